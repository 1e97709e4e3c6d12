//! The twitter tasks over a validated document: by columns, and where rows are asked for,
//! by keys that are bound to the table once.

use livebuf::{Key, Table, Valid, Value};

use super::{PartialTweet, TopTweet, User};

static STATUSES: Key<'static> = Key::new("statuses");
static ID: Key<'static> = Key::new("id");
static TEXT: Key<'static> = Key::new("text");

fn statuses<'a>(root: Value<'a, Valid>) -> Option<Table<'a, Valid>> {
    root.get(&STATUSES)?.as_array()?.table()
}

pub(super) fn top_tweet<'a>(
    root: Value<'a, Valid>,
    max_retweet_count: u64,
) -> Option<TopTweet<'a>> {
    let table = statuses(root)?;
    let mut top = None;
    let mut top_count = 0;
    for (row, retweet_count) in table.column("retweet_count")?.i64s().enumerate() {
        let retweet_count = retweet_count? as u64;
        if retweet_count <= max_retweet_count && retweet_count >= top_count {
            top_count = retweet_count;
            top = Some(row);
        }
    }
    let top = top?;
    Some(TopTweet {
        text: table.column("text")?.get(top)?.as_str()?,
        screen_name: table.column(&["user", "screen_name"])?.get(top)?.as_str()?,
        retweet_count: top_count,
    })
}

pub(super) fn partial_tweets<'a>(
    root: Value<'a, Valid>,
    result: &mut Vec<PartialTweet<'a>>,
) -> Option<()> {
    let table = statuses(root)?;
    let mut created_at = table.column("created_at")?.strs();
    let mut ids = table.column("id")?.i64s();
    let mut texts = table.column("text")?.strs();
    let mut in_reply_to = table.column("in_reply_to_status_id")?.i64s();
    let mut user_ids = table.column(&["user", "id"])?.i64s();
    let mut screen_names = table.column(&["user", "screen_name"])?.strs();
    let mut retweets = table.column("retweet_count")?.i64s();
    let mut favorites = table.column("favorite_count")?.i64s();
    for _ in 0..table.rows() {
        result.push(PartialTweet {
            created_at: created_at.next()??,
            id: ids.next()?? as u64,
            text: texts.next()??,
            in_reply_to_status_id: in_reply_to.next()?.unwrap_or(0) as u64,
            user: User { id: user_ids.next()?? as u64, screen_name: screen_names.next()?? },
            retweet_count: retweets.next()?? as u64,
            favorite_count: favorites.next()?? as u64,
        });
    }
    Some(())
}

/// By column: one scan.
pub(super) fn find_tweet<'a>(root: Value<'a, Valid>, id: u64) -> Option<&'a str> {
    let table = statuses(root)?;
    let row = table.column(&ID)?.find(id)?;
    table.column(&TEXT)?.get(row)?.as_str()
}

/// By rows, as objects.
pub(super) fn find_tweet_by_rows<'a>(root: Value<'a, Valid>, id: u64) -> Option<&'a str> {
    let tweets = root.get(&STATUSES)?.as_array()?;
    let key = tweets.get(0)?.as_object()?.bind("id")?;
    for tweet in tweets {
        if tweet.get(&key)?.as_u64()? == id {
            return tweet.get(&TEXT)?.as_str();
        }
    }
    None
}

pub(super) fn distinct_user_id(root: Value<'_, Valid>, result: &mut Vec<u64>) -> Option<()> {
    let table = statuses(root)?;
    let users = table.column(&["user", "id"])?;
    result.extend(users.i64s().flatten().map(|id| id as u64));
    if let Some(retweeted) = table.column(&["retweeted_status", "user", "id"]) {
        result.extend(retweeted.i64s().flatten().map(|id| id as u64));
    } else {
        // Few retweets: objects by themselves.
        let retweeted = table.column("retweeted_status")?;
        for tweet in retweeted.iter().flatten() {
            result.push(tweet.get("user")?.get("id")?.as_u64()?);
        }
    }
    Some(())
}
