//! The tasks as the Rust benchmark has them, and what they fill.

#[derive(Debug, PartialEq)]
pub(crate) struct TopTweet<'a> {
    pub(crate) text: &'a str,
    pub(crate) screen_name: &'a str,
    pub(crate) retweet_count: u64,
}

#[derive(Debug, PartialEq)]
pub(crate) struct PartialTweet<'a> {
    pub(crate) created_at: &'a str,
    pub(crate) id: u64,
    pub(crate) text: &'a str,
    pub(crate) in_reply_to_status_id: u64,
    pub(crate) user: User<'a>,
    pub(crate) retweet_count: u64,
    pub(crate) favorite_count: u64,
}

#[derive(Debug, PartialEq)]
pub(crate) struct User<'a> {
    pub(crate) id: u64,
    pub(crate) screen_name: &'a str,
}

#[allow(dead_code)] // One of them is timed in Rust only.
#[path = "../../../../bench/src/twitter/livebuf.rs"]
mod tasks;

use livebuf::{Valid, Value};

pub(crate) fn top_tweet<'a>(root: Value<'a, Valid>, most: u64) -> Option<TopTweet<'a>> {
    tasks::top_tweet(root, most)
}

pub(crate) fn partial_tweets<'a>(
    root: Value<'a, Valid>,
    result: &mut Vec<PartialTweet<'a>>,
) -> Option<()> {
    tasks::partial_tweets(root, result)
}

pub(crate) fn find_tweet<'a>(root: Value<'a, Valid>, id: u64) -> Option<&'a str> {
    tasks::find_tweet(root, id)
}

pub(crate) fn distinct_user_id(root: Value<'_, Valid>, result: &mut Vec<u64>) -> Option<()> {
    tasks::distinct_user_id(root, result)
}
