//! Where results go: standard output, or a file that appears whole or not at all.

use crate::failure::{Failure, Outcome};
use crate::source::patiently;
use crate::told::{OUTPUT, shown, tell, was_closed};
use livebuf::mapped::{self, FileEdit};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use tempfile::{NamedTempFile, TempPath};

/// Standard output, buffered. Call [`Out::finish`] at the end.
pub(crate) struct Out(BufWriter<Standard>);

/// Standard output, or nothing if it is closed.
struct Standard(StdoutLock<'static>);

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if was_closed(OUTPUT) {
            return Err(io::Error::other("it is closed"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Bytes for [`Out`], which is flushed at its end alone.
struct Piece<'o>(&'o mut BufWriter<Standard>);

impl Write for Piece<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Out {
    pub(crate) fn new() -> Out {
        Out(BufWriter::with_capacity(64 << 10, Standard(io::stdout().lock())))
    }

    /// For binary output. It is refused on a terminal.
    pub(crate) fn binary(hint: &str) -> Outcome<Out> {
        refuse_terminal(hint)?;
        Ok(Out::new())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Outcome {
        self.0.write_all(bytes).map_err(|error| Failure::output(&error))
    }

    pub(crate) fn line(&mut self, text: &str) -> Outcome {
        self.write(text.as_bytes())?;
        self.write(b"\n")
    }

    pub(crate) fn writer(&mut self) -> impl Write {
        Piece(&mut self.0)
    }

    pub(crate) fn flush(&mut self) -> Outcome {
        self.0.flush().map_err(|error| Failure::output(&error))
    }

    pub(crate) fn finish(mut self) -> Outcome {
        self.flush()
    }
}

pub(crate) fn refuse_terminal(hint: &str) -> Outcome {
    if io::stdout().is_terminal() {
        return Err(Failure::trouble("will not write binary to a terminal").with_hint(hint));
    }
    Ok(())
}

/// Whether standard output takes colours: a terminal, and NO_COLOR not set.
pub(crate) fn colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Temporary files and directories, which are removed if the command is interrupted.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Has a temporary file or directory removed if the command is interrupted.
pub(crate) fn is_temporary(path: &Path) {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // Without a handler an interrupt would leave a file named .livebuf-…tmp.
        let _ = ctrlc::set_handler(|| {
            let paths = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
            for path in paths.iter() {
                let _ = fs::remove_file(path);
                let _ = fs::remove_dir_all(path);
            }
            std::process::exit(130);
        });
    });
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_path_buf());
}

/// A temporary file has its place, and its name is free for others.
fn is_no_longer_temporary(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != path);
}

/// Refuses what [`NewFile::create`] would refuse, before the work is done.
pub(crate) fn check_new_file(path: &Path, force: bool) -> Outcome {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Failure::io(path, &io::ErrorKind::IsADirectory.into()))
        }
        Ok(metadata) if metadata.is_file() && !force => Err(exists(path)),
        Ok(_) => Ok(()),
        Err(_) => {
            let found = fs::metadata(directory(path));
            found.map(drop).map_err(|error| Failure::io(path, &error))
        }
    }
}

/// A new file: a temporary file beside it, which is renamed when it is complete.
pub(crate) struct NewFile {
    file: BufWriter<Target>,
    path: PathBuf,
    force: bool,
}

enum Target {
    Temporary(NamedTempFile),
    /// A pipe or device is written directly: it has no contents that could be lost.
    Special(File),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Temporary(file) => file.write(bytes),
            Target::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile {
    /// Begins a file. It must not exist yet, unless `force` is given.
    pub(crate) fn create(path: &Path, force: bool) -> Outcome<NewFile> {
        NewFile::begin(path, force).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => Failure::io(path, &error),
        })
    }

    fn begin(path: &Path, force: bool) -> io::Result<NewFile> {
        let found = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let buffered = |file| BufWriter::with_capacity(64 << 10, file);
        if let Some(metadata) = &found {
            if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            if !metadata.is_file() {
                let file = File::options().write(true).open(path)?;
                if file.is_terminal() {
                    return Err(io::Error::other("will not write binary to a terminal"));
                }
                let (file, path) = (buffered(Target::Special(file)), path.to_path_buf());
                return Ok(NewFile { file, path, force });
            }
            if !force {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        let path = mapped::behind_links(path)?;
        let (file, temporary) = mapped::new_beside(&path, found.as_ref())?;
        is_temporary(&temporary);
        let file = NamedTempFile::from_parts(file, TempPath::try_from_path(temporary)?);
        Ok(NewFile { file: buffered(Target::Temporary(file)), path, force })
    }

    pub(crate) fn writer(&mut self) -> &mut impl Write {
        &mut self.file
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Outcome {
        self.file.write_all(bytes).map_err(|error| Failure::io(&self.path, &error))
    }

    /// Renames the file to its name, and waits until that is on the disk.
    pub(crate) fn finish(self) -> Outcome {
        self.rename(None)
    }

    /// The same, in place of a document that is open to be edited.
    pub(crate) fn finish_over(self, edit: FileEdit) -> Outcome {
        self.rename(Some(edit))
    }

    fn rename(self, edit: Option<FileEdit>) -> Outcome {
        let NewFile { file, path, force } = self;
        let failure = |error: &io::Error| Failure::io(&path, error);
        let file = match file.into_inner().map_err(|error| failure(error.error()))? {
            Target::Temporary(file) => file,
            Target::Special(_) => return Ok(()),
        };
        file.as_file().sync_all().map_err(|error| failure(&error))?;
        let name = file.path().to_path_buf();
        if force {
            // If it was not renamed, it is removed when this is dropped. It is locked until then.
            let (_locked, temporary) = file.into_parts();
            let owner = Owner::of(&path);
            match edit {
                Some(edit) => edit.replace_by(&temporary, &path),
                None => patiently(|| mapped::replace(&temporary, &path)),
            }
            .map_err(|error| failure(&error))?;
            is_no_longer_temporary(&name);
            let _ = temporary.keep();
            owner.told(&path);
            return Ok(());
        }
        file.persist_noclobber(&path).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(&path),
            _ => failure(&error.error),
        })?;
        is_no_longer_temporary(&name);
        mapped::sync_directory_of(&path).map_err(|error| failure(&error))
    }
}

/// The owner of a file. Only root gives files to other users, and only members of a group to it.
pub(crate) struct Owner(Option<(u32, u32)>);

impl Owner {
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Owner {
        use std::os::unix::fs::MetadataExt;
        Owner(fs::metadata(path).ok().map(|metadata| (metadata.uid(), metadata.gid())))
    }

    #[cfg(not(unix))]
    pub(crate) fn of(_: &Path) -> Owner {
        Owner(None)
    }

    /// Says that the file in its place is somebody else's.
    pub(crate) fn told(&self, path: &Path) {
        let (Some(old), Some(new)) = (self.0, Owner::of(path).0) else { return };
        let what = match (old.0 == new.0, old.1 == new.1) {
            (true, true) => return,
            (true, false) => "its group is another one now: you are no member of the old one",
            (false, _) => "it belongs to you now: only root may give files to other users",
        };
        tell(&format!("livebuf: {}: {what}", shown(&path.display().to_string())));
    }
}

fn exists(path: &Path) -> Failure {
    Failure::trouble(format!("{}: exists already", path.display()))
        .with_hint("give -f to write over it")
}

pub(crate) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Whether a path given with `-o`, or none, means standard output.
pub(crate) fn is_stdout(path: Option<&Path>) -> bool {
    path.is_none_or(|path| path == Path::new("-"))
}
