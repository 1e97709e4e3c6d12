//! The twitter tasks over a validated document, by remembered keys.

use livebuf::{Key, Valid, Value};

use super::{PartialTweet, TopTweet, User};

static STATUSES: Key<'static> = Key::new("statuses");
static CREATED_AT: Key<'static> = Key::new("created_at");
static FAVORITE_COUNT: Key<'static> = Key::new("favorite_count");
static ID: Key<'static> = Key::new("id");
static IN_REPLY_TO_STATUS_ID: Key<'static> = Key::new("in_reply_to_status_id");
static RETWEETED_STATUS: Key<'static> = Key::new("retweeted_status");
static RETWEET_COUNT: Key<'static> = Key::new("retweet_count");
static SCREEN_NAME: Key<'static> = Key::new("screen_name");
static TEXT: Key<'static> = Key::new("text");
static USER: Key<'static> = Key::new("user");
/// Users have an `id` at another place than tweets: a key of its own guesses right.
static USER_ID: Key<'static> = Key::new("id");
fn statuses<'a>(root: Value<'a, Valid>) -> Option<impl Iterator<Item = Value<'a, Valid>>> {
    Some(root.get(&STATUSES)?.as_array()?.iter())
}

pub(super) fn top_tweet<'a>(
    root: Value<'a, Valid>,
    max_retweet_count: u64,
) -> Option<TopTweet<'a>> {
    let mut top = None;
    let mut top_count = 0;
    for tweet in statuses(root)? {
        let retweet_count = tweet.get(&RETWEET_COUNT)?.as_u64()?;
        if retweet_count <= max_retweet_count && retweet_count >= top_count {
            top_count = retweet_count;
            top = Some(tweet);
        }
    }
    let top = top?;
    Some(TopTweet {
        text: top.get(&TEXT)?.as_str()?,
        screen_name: top.get(&USER)?.get(&SCREEN_NAME)?.as_str()?,
        retweet_count: top_count,
    })
}

pub(super) fn partial_tweets<'a>(
    root: Value<'a, Valid>,
    result: &mut Vec<PartialTweet<'a>>,
) -> Option<()> {
    for tweet in statuses(root)? {
        let in_reply_to = tweet.get(&IN_REPLY_TO_STATUS_ID)?;
        let user = tweet.get(&USER)?;
        result.push(PartialTweet {
            created_at: tweet.get(&CREATED_AT)?.as_str()?,
            id: tweet.get(&ID)?.as_u64()?,
            text: tweet.get(&TEXT)?.as_str()?,
            in_reply_to_status_id: if in_reply_to.is_null() { 0 } else { in_reply_to.as_u64()? },
            user: User {
                id: user.get(&USER_ID)?.as_u64()?,
                screen_name: user.get(&SCREEN_NAME)?.as_str()?,
            },
            retweet_count: tweet.get(&RETWEET_COUNT)?.as_u64()?,
            favorite_count: tweet.get(&FAVORITE_COUNT)?.as_u64()?,
        });
    }
    Some(())
}

pub(super) fn find_tweet<'a>(root: Value<'a, Valid>, id: u64) -> Option<&'a str> {
    for tweet in statuses(root)? {
        if tweet.get(&ID)?.as_u64()? == id {
            return tweet.get(&TEXT)?.as_str();
        }
    }
    None
}

pub(super) fn distinct_user_id(root: Value<'_, Valid>, result: &mut Vec<u64>) -> Option<()> {
    for tweet in statuses(root)? {
        result.push(tweet.get(&USER)?.get(&USER_ID)?.as_u64()?);
        if let Some(retweeted) = tweet.get(&RETWEETED_STATUS) {
            result.push(retweeted.get(&USER)?.get(&USER_ID)?.as_u64()?);
        }
    }
    Some(())
}
