//! Owns changes as values: merge patches, patches and diffs of `twitter.json`, against
//! json-patch on serde_json's tree. A document is one buffer; the tree was parsed before.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use livebuf::{Doc, DocBuf};
use livebuf_patch::{DiffOptions, Patch, diff, merge, merge_json};

use crate::data;
use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

const MERGE_TARGET: f64 = 3_000.0;
const DIFF_TARGET: f64 = 2_000_000.0;

/// Two merge patches of three fields, so that each changes what the other set.
const MERGES: [&str; 2] = [
    r#"{"search_metadata":{"count":101,"completed_in":0.091,"query":"livebuf"}}"#,
    r#"{"search_metadata":{"count":102,"completed_in":0.092,"query":"changes"}}"#,
];
/// Three changes far from each other, in rows of a table and beside it.
const CHANGES: [(&str, &str); 3] = [
    ("/statuses/3/user/name", r#""Ada Lovelace""#),
    ("/statuses/50/retweet_count", "12345"),
    ("/search_metadata/count", "101"),
];

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    let twitter = data::sample("twitter")?;
    let document = livebuf_json::from_slice(&twitter.json)?;
    merges(&twitter.value, &document, effort, report)?;
    diffs(&twitter.value, &document, effort, report)
}

/// Three fields of the root's last member.
fn merges(
    tree: &serde_json::Value,
    document: &DocBuf,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let patches = MERGES.map(livebuf_json::from_str);
    let [one, two] = patches;
    let patches = [one?, two?];
    let sent = [patches[0].to_vec(), patches[1].to_vec()];
    let trees: Vec<serde_json::Value> =
        MERGES.iter().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>()?;

    let mut expected = tree.clone();
    let mut documents = [document.clone(), document.clone(), document.clone()];
    for at in [0, 1] {
        json_patch::merge(&mut expected, &trees[at]);
        merge(&mut documents[0], &patches[at])?;
        merge_json(&mut documents[1], MERGES[at].as_bytes())?;
        merge(&mut documents[2], Doc::open(&sent[at])?)?;
        for document in &documents {
            data::check(&expected, document)?;
        }
    }

    let [mut by_document, mut by_text, mut by_bytes] = documents;
    let mut contest = Contest::new();
    let opened = contest.add("livebuf, patch opened before", 2, || -> Result<()> {
        for patch in &patches {
            merge(&mut by_document, black_box(patch))?;
        }
        Ok(())
    });
    let text = contest.add("livebuf, patch as JSON", 2, || -> Result<()> {
        for patch in MERGES {
            merge_json(&mut by_text, black_box(patch).as_bytes())?;
        }
        Ok(())
    });
    let bytes = contest.add("livebuf, patch validated", 2, || -> Result<()> {
        for patch in &sent {
            merge(&mut by_bytes, Doc::open(black_box(patch))?)?;
        }
        Ok(())
    });
    let peer = contest.add("json-patch on a tree", 2, || {
        for patch in &trees {
            json_patch::merge(&mut expected, black_box(patch));
        }
    });
    let outcome = contest.run(effort);
    report.times("patch/merge three fields into twitter", &outcome);
    report.add(
        "patch/merge three fields into twitter, patch opened before",
        Measured::Nanoseconds(outcome.nanoseconds(opened)),
        Target::AtMost(MERGE_TARGET),
        format!(
            "from bytes that are validated {}; json_patch::merge on a tree {}",
            duration(outcome.nanoseconds(bytes)),
            duration(outcome.nanoseconds(peer)),
        ),
    );
    report.add(
        "patch/merge three fields into twitter, patch as JSON text",
        Measured::Nanoseconds(outcome.nanoseconds(text)),
        Target::AtMost(MERGE_TARGET),
        MERGES[0],
    );
    Ok(())
}

fn diffs(
    tree: &serde_json::Value,
    document: &DocBuf,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let (mut other, mut expected) = (document.clone(), tree.clone());
    for (pointer, text) in CHANGES {
        other.set_pointer(pointer, &livebuf_json::from_str(text)?)?;
        *expected.pointer_mut(pointer).context("no such field")? = serde_json::from_str(text)?;
    }
    // As another program would have it: encoded by itself.
    let encoded = livebuf_json::from_slice(&serde_json::to_vec(&expected)?)?;
    let options = DiffOptions::new();
    for two in [&other, &encoded] {
        let patch = diff(document, two, &options)?;
        ensure!(patch.len() == CHANGES.len(), "the patch is {patch:?}");
        let mut patched = document.clone();
        patch.apply(&mut patched)?;
        data::check(&expected, &patched)?;
    }
    let theirs = json_patch::diff(tree, &expected);
    let mut patched = tree.clone();
    json_patch::patch(&mut patched, &theirs)?;
    ensure!(patched == expected, "json-patch's diff is another one");

    let mut contest = Contest::new();
    let edited = contest.add("livebuf", 1, || diff(black_box(document), &other, &options));
    let anew =
        contest.add("livebuf, encoded anew", 1, || diff(black_box(document), &encoded, &options));
    let same =
        contest.add("livebuf, against itself", 1, || diff(black_box(document), document, &options));
    let peer =
        contest.add("json-patch on a tree", 1, || json_patch::diff(black_box(tree), &expected));
    let outcome = contest.run(effort);
    report.times("patch/diff of twitter with three changed fields", &outcome);
    report.add(
        "patch/diff of twitter with three changed fields",
        Measured::Nanoseconds(outcome.nanoseconds(edited)),
        Target::AtMost(DIFF_TARGET),
        format!(
            "against one that was encoded anew {}, against itself {}; json_patch::diff on trees {}",
            duration(outcome.nanoseconds(anew)),
            duration(outcome.nanoseconds(same)),
            duration(outcome.nanoseconds(peer)),
        ),
    );

    let patches = [diff(document, &other, &options)?, diff(&other, document, &options)?];
    apply(tree, document, &patches, effort, report)
}

/// The three changes, and back.
fn apply(
    tree: &serde_json::Value,
    document: &DocBuf,
    patches: &[Patch; 2],
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let theirs: Vec<json_patch::Patch> = patches
        .iter()
        .map(|patch| Ok(serde_json::from_str(&patch.to_json()?)?))
        .collect::<Result<_>>()?;
    let (mut ours, mut values) = (document.clone(), tree.clone());
    for (patch, theirs) in patches.iter().zip(&theirs) {
        patch.apply(&mut ours)?;
        json_patch::patch(&mut values, theirs)?;
        data::check(&values, &ours)?;
    }
    let mut contest = Contest::new();
    let opened = contest.add("livebuf", 2, || -> Result<()> {
        for patch in patches {
            black_box(patch).apply(&mut ours)?;
        }
        Ok(())
    });
    let peer = contest.add("json-patch on a tree", 2, || -> Result<()> {
        for patch in &theirs {
            json_patch::patch(&mut values, black_box(patch))?;
        }
        Ok(())
    });
    let outcome = contest.run(effort);
    report.times("patch/apply three changes to twitter", &outcome);
    report.add(
        "patch/apply three changes to twitter",
        Measured::Nanoseconds(outcome.nanoseconds(opened)),
        Target::None,
        format!("json_patch::patch on a tree {}", duration(outcome.nanoseconds(peer))),
    );
    Ok(())
}
