//! The twitter tasks over an already parsed yyjson tree, step for step as
//! simdjson's benchmark walks it.

use crate::yyjson::Value;

use super::{PartialTweet, TopTweet, User};

fn statuses<'a>(root: Value<'a>) -> Option<impl Iterator<Item = Value<'a>>> {
    root.get("statuses")?.elements()
}

pub(super) fn top_tweet<'a>(root: Value<'a>, max_retweet_count: u64) -> Option<TopTweet<'a>> {
    let mut top = None;
    let mut top_count = 0;
    for tweet in statuses(root)? {
        let retweet_count = tweet.get("retweet_count")?.as_u64()?;
        if retweet_count <= max_retweet_count && retweet_count >= top_count {
            top_count = retweet_count;
            top = Some(tweet);
        }
    }
    let top = top?;
    Some(TopTweet {
        text: top.get("text")?.as_str()?,
        screen_name: top.get("user")?.get("screen_name")?.as_str()?,
        retweet_count: top_count,
    })
}

pub(super) fn partial_tweets<'a>(
    root: Value<'a>,
    result: &mut Vec<PartialTweet<'a>>,
) -> Option<()> {
    for tweet in statuses(root)? {
        let in_reply_to = tweet.get("in_reply_to_status_id")?;
        let user = tweet.get("user")?;
        result.push(PartialTweet {
            created_at: tweet.get("created_at")?.as_str()?,
            id: tweet.get("id")?.as_u64()?,
            text: tweet.get("text")?.as_str()?,
            in_reply_to_status_id: if in_reply_to.is_null() { 0 } else { in_reply_to.as_u64()? },
            user: User {
                id: user.get("id")?.as_u64()?,
                screen_name: user.get("screen_name")?.as_str()?,
            },
            retweet_count: tweet.get("retweet_count")?.as_u64()?,
            favorite_count: tweet.get("favorite_count")?.as_u64()?,
        });
    }
    Some(())
}

pub(super) fn find_tweet<'a>(root: Value<'a>, id: u64) -> Option<&'a str> {
    for tweet in statuses(root)? {
        if tweet.get("id")?.as_u64()? == id {
            return tweet.get("text")?.as_str();
        }
    }
    None
}

pub(super) fn distinct_user_id(root: Value<'_>, result: &mut Vec<u64>) -> Option<()> {
    for tweet in statuses(root)? {
        result.push(tweet.get("user")?.get("id")?.as_u64()?);
        if let Some(retweeted) = tweet.get("retweeted_status") {
            result.push(retweeted.get("user")?.get("id")?.as_u64()?);
        }
    }
    Some(())
}
