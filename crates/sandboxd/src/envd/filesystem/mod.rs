pub mod metadata;
#[derive(Default)]
pub struct Watchers;
impl Watchers {
    pub fn settle(&self) {}
}
pub fn routes() -> axum::Router<std::sync::Arc<super::sandbox::Sandbox>> {
    axum::Router::new()
}
