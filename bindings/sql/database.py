"""What the tests of the extensions do with a database."""

import pytest


class Database:
    """A connection, and the short ways that tests need. `Error` is its library's."""

    def __init__(self, connection, Error):
        self.connection = connection
        self.Error = Error

    def run(self, sql, *values):
        """All rows."""
        return self.connection.execute(sql, values).fetchall()

    def one(self, sql, *values):
        """The one value of the one row."""
        ((value,),) = self.run(sql, *values)
        return value

    def error(self, sql, *values):
        """The message of the error."""
        with pytest.raises(self.Error) as caught:
            self.run(sql, *values)
        return str(caught.value)
