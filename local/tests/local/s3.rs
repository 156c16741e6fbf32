//! The S3 server, through the client that the functions use.

use aws::{Bucket, Keys, Sdk, Swap};
use lambda::{Objects, Put};
use local::s3::{ACCESS_KEY, S3Server, SECRET_KEY};

const KEY: &str = "incidents/dt=2025-08-23/error_class=transient/t-1-00000000000000000002.json";

fn bucket(server: &S3Server, secret: &str) -> Bucket {
    let sdk = Sdk::new(Some(server.url().parse().unwrap())).or_keys(Keys {
        id: ACCESS_KEY.to_owned(),
        secret: secret.to_owned(),
    });
    Bucket::new("brew".parse().unwrap(), sdk)
}

#[tokio::test]
async fn an_object_is_created_once_also_by_many_at_the_same_time() {
    let server = S3Server::start("brew").await.unwrap();
    let puts = (0..8).map(|number| {
        let bucket = bucket(&server, SECRET_KEY);
        async move { bucket.put_new(KEY, vec![number; 100]).await.unwrap() }
    });
    let puts = futures_util::future::join_all(puts).await;
    assert_eq!(puts.iter().filter(|put| **put == Put::Created).count(), 1);
    let reader = bucket(&server, SECRET_KEY);
    let object = reader.get(KEY).await.unwrap().unwrap();
    assert!(object.body.iter().all(|byte| *byte == object.body[0]));
}

#[tokio::test]
async fn of_two_that_replace_the_same_content_one_wins() {
    let server = S3Server::start("brew").await.unwrap();
    let bucket = bucket(&server, SECRET_KEY);
    bucket.put_new(KEY, b"first".to_vec()).await.unwrap();
    let tag = bucket.get(KEY).await.unwrap().unwrap().etag;
    let swap = |body: &'static [u8]| bucket.put_if_match(KEY, body.to_vec(), &tag);
    let (a, b) = tokio::join!(swap(b"second"), swap(b"third"));
    let swaps = [a.unwrap(), b.unwrap()];
    let swapped = swaps.iter().filter(|swap| **swap != Swap::Changed).count();
    assert_eq!(swapped, 1, "{swaps:?}");
}

#[tokio::test]
async fn objects_outlive_a_server_that_is_given_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        S3Server::start_on(
            ([127, 0, 0, 1], 0).into(),
            "brew",
            Some(folder.path().to_owned()),
        )
    };
    let server = start().await.unwrap();
    bucket(&server, SECRET_KEY)
        .put_new(KEY, b"x".to_vec())
        .await
        .unwrap();
    drop(server);
    let server = start().await.unwrap();
    let listed = bucket(&server, SECRET_KEY)
        .list("incidents/")
        .await
        .unwrap();
    assert_eq!(listed.len(), 1);
}

#[tokio::test]
async fn a_wrong_key_is_refused() {
    let server = S3Server::start("brew").await.unwrap();
    let refused = bucket(&server, "wrong").put_new(KEY, Vec::new()).await;
    assert!(refused.is_err());
}
