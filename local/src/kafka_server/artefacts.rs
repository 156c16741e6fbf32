//! Kafka's jars, brought from Maven once and kept in a cache folder.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use nix::fcntl::{Flock, FlockArg};
use tokio::process::Command;

/// The version of Apache Kafka that is run.
pub const KAFKA_VERSION: &str = "4.4.0";

/// The folder of jars that a broker is run from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artefacts {
    libs: PathBuf,
}

impl Artefacts {
    /// Brings the jars into the cache of this user, unless they are there, and checks that `java` runs.
    ///
    /// `say` is told what is about to take time. Several processes at once wait for each other.
    pub async fn provide(say: impl Fn(&str)) -> anyhow::Result<Self> {
        Self::provide_in(&cache_folder()?, say).await
    }

    /// Brings the jars into a folder, unless they are there.
    pub async fn provide_in(cache: &Path, say: impl Fn(&str)) -> anyhow::Result<Self> {
        needs("java", "-version", "Kafka runs on Java 17 or later").await?;
        let home = cache.join(format!("kafka-{KAFKA_VERSION}"));
        let libs = home.join("libs");
        if libs.is_dir() {
            return Ok(Self { libs });
        }
        needs("mvn", "-version", "Kafka is brought from Maven").await?;
        std::fs::create_dir_all(&home)
            .with_context(|| format!("cannot make {}", home.display()))?;
        let _lock = lock(home.join("lock")).await?;
        if !libs.is_dir() {
            say(&format!(
                "bringing Apache Kafka {KAFKA_VERSION} from Maven into {} (54 MB, once)",
                home.display()
            ));
            bring(&home, &libs).await?;
        }
        Ok(Self { libs })
    }

    /// Returns Java's class path of all jars.
    pub fn class_path(&self) -> String {
        self.libs.join("*").display().to_string()
    }
}

/// Copies the jars next to where they belong and moves them there at the end, so that a half-made folder is never used.
async fn bring(home: &Path, libs: &Path) -> anyhow::Result<()> {
    let part = tempfile::Builder::new()
        .prefix("part-")
        .tempdir_in(home)
        .with_context(|| format!("cannot write into {}", home.display()))?;
    let pom = part.path().join("pom.xml");
    let copied = part.path().join("libs");
    std::fs::write(&pom, POM).with_context(|| format!("cannot write {}", pom.display()))?;
    let output = Command::new("mvn")
        .args(["--batch-mode", "--quiet", "--file"])
        .arg(&pom)
        .args(["dependency:copy-dependencies", "-DincludeScope=runtime"])
        .arg(format!("-DoutputDirectory={}", copied.display()))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("cannot run mvn")?;
    if !output.status.success() || !copied.is_dir() {
        bail!(
            "mvn cannot bring Apache Kafka {KAFKA_VERSION}: {}",
            super::last_lines(&String::from_utf8_lossy(&output.stdout))
        );
    }
    std::fs::rename(&copied, libs).with_context(|| format!("cannot make {}", libs.display()))
}

async fn lock(file: PathBuf) -> anyhow::Result<Flock<std::fs::File>> {
    let locking = tokio::task::spawn_blocking(move || {
        let opened = std::fs::File::create(&file)
            .with_context(|| format!("cannot write {}", file.display()))?;
        Flock::lock(opened, FlockArg::LockExclusive)
            .map_err(|(_, error)| error)
            .with_context(|| format!("cannot lock {}", file.display()))
    });
    locking
        .await
        .context("the wait for the lock was broken off")?
}

async fn needs(program: &str, argument: &str, why: &str) -> anyhow::Result<()> {
    let ran = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    match ran {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => bail!(
            "{why}, but `{program} {argument}` fails: {}",
            super::last_lines(&String::from_utf8_lossy(&output.stderr))
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{why}, and `{program}` is not in PATH: install it, or do without this command")
        }
        Err(error) => Err(error).with_context(|| format!("cannot run {program}")),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a tool finds its cache by the user's environment"
)]
fn cache_folder() -> anyhow::Result<PathBuf> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let cache = match (named("XDG_CACHE_HOME"), named("HOME")) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => PathBuf::from(home).join(".cache"),
        (None, None) => bail!("neither XDG_CACHE_HOME nor HOME is set: there is no cache folder"),
    };
    Ok(cache.join("brew-payments"))
}

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>brew</groupId>
  <artifactId>local-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>4.4.0</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>4.4.0</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"#;
