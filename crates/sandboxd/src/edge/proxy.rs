//! One request: to whom, and back.

use std::sync::Arc;

use http::{Request, Response, StatusCode, Version, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::answer::{self, Body};
use super::relay::Relay;
use super::target::{self, Named, Target};
use super::upstream::Upstream;
use super::{DAEMON_PORT, Edge, headers, signature, upgrade, upstream};
use crate::hook::Link;
use crate::sandboxes::{Phase, Sandbox};

/// Answers a request, by its sandbox or instead of it.
pub async fn answer(edge: &Arc<Edge>, link: &Arc<Link>, request: Request<Incoming>) -> Response<Body> {
    let target = match destination(edge, &request) {
        Ok(target) => target,
        Err(words) => {
            edge.counts.edge("", request.method().as_str(), request.uri().path());
            return answer::text(StatusCode::BAD_REQUEST, words);
        }
    };
    let path = request.uri().path();
    edge.counts.edge(&target.sandbox, request.method().as_str(), path);
    let sandbox = edge.sandboxes.get(&target.sandbox);
    if let Some(sandbox) = &sandbox {
        edge.links.assign(link, &sandbox.id);
    }
    if let Some(refused) = refusal(link, &request) {
        return refused;
    }
    let Some(sandbox) = sandbox else { return answer::not_found(&target.sandbox) };
    if target::is_private(&target, path) {
        return answer::private(path);
    }
    pass(edge, link, request, &target, &sandbox).await
}

fn destination(edge: &Edge, request: &Request<Incoming>) -> Result<Target, &'static str> {
    if let Some(only) = &edge.only {
        return Ok(Target { sandbox: only.to_string(), port: DAEMON_PORT });
    }
    match target::named(request.uri(), request.headers()) {
        Named::Target(target) => Ok(target),
        Named::Nonsense(words) => Err(words),
        Named::Nothing => signature::owner(&edge.sandboxes, request.method(), request.uri())
            .map(|sandbox| Target { sandbox, port: DAEMON_PORT })
            .ok_or("the request names no sandbox: neither host name nor headers nor a signature of one"),
    }
}

/// The answer that the plan of faults gives instead of the sandbox, if any.
fn refusal(link: &Link, request: &Request<Incoming>) -> Option<Response<Body>> {
    let faults = link.faults();
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let refusal = faults.refusal(request.uri().path(), kind)?;
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::NOT_IMPLEMENTED);
    Some(match &refusal.body {
        Some(body) => answer::text(status, body),
        None => answer::json(status, &serde_json::json!({"code": status.as_u16(), "message": "refused by a test"})),
    })
}

async fn pass(
    edge: &Edge,
    link: &Arc<Link>,
    mut request: Request<Incoming>,
    target: &Target,
    sandbox: &Arc<Sandbox>,
) -> Response<Body> {
    if sandbox.phase() == Phase::Paused
        && sandbox.spec.auto_resume
        && let Err(error) = edge.sandboxes.resume(&sandbox.id, None).await
    {
        tracing::warn!(%error, sandbox = %sandbox.id, "cannot wake");
    }
    // Before the look at the phase: whoever stops the sandbox after that look will find this request.
    let entered = sandbox.streams.enter(link, request.version() == Version::HTTP_2);
    if sandbox.phase() != Phase::Running {
        return answer::not_found(&target.sandbox);
    }
    let wants_upgrade = request.headers().contains_key(header::UPGRADE) && request.version() == Version::HTTP_11;
    let client = wants_upgrade.then(|| hyper::upgrade::on(&mut request));
    let request = outbound(request, wants_upgrade);
    let cancelled = entered.cancelled().cloned();
    let sent = send(edge, request, target, sandbox);
    let sent = match cancelled {
        None => sent.await,
        Some(cancelled) => tokio::select! {
            sent = sent => sent,
            () = cancelled.cancelled() => Err(answer::not_found(&target.sandbox)),
        },
    };
    let (mut response, upstream) = match sent {
        Ok(sent) => sent,
        Err(instead) => return instead,
    };
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        headers::strip_hop_by_hop(response.headers_mut(), true);
        if let Some(client) = client {
            upgrade::join(client, hyper::upgrade::on(&mut response), Arc::clone(link), entered, upstream);
        }
        let (parts, body) = response.into_parts();
        return Response::from_parts(parts, body.map_err(Into::into).boxed_unsync());
    }
    headers::strip_hop_by_hop(response.headers_mut(), false);
    let (parts, body) = response.into_parts();
    Response::from_parts(parts, Relay::new(body, entered, upstream).boxed_unsync())
}

/// The request as the sandbox shall get it.
fn outbound(request: Request<Incoming>, keep_upgrade: bool) -> Request<Incoming> {
    let (mut parts, body) = request.into_parts();
    headers::strip_hop_by_hop(&mut parts.headers, keep_upgrade);
    // Answered here: the body is asked for at once.
    parts.headers.remove(header::EXPECT);
    if !parts.headers.contains_key(header::HOST) {
        let host = parts.uri.authority().and_then(|authority| authority.as_str().parse().ok());
        parts.headers.insert(header::HOST, host.unwrap_or(http::HeaderValue::from_static("localhost")));
    }
    // Servers expect the path only.
    parts.uri = parts.uri.path_and_query().map_or_else(|| http::Uri::from_static("/"), |path| path.clone().into());
    parts.version = Version::HTTP_11;
    parts.extensions.clear();
    Request::from_parts(parts, body)
}

/// The sandbox' response, or the edge's own instead.
async fn send(
    edge: &Edge,
    request: Request<Incoming>,
    target: &Target,
    sandbox: &Sandbox,
) -> Result<(Response<Incoming>, Upstream), Response<Body>> {
    let sent = if target.port == DAEMON_PORT {
        let boxed = sandbox.boxed().await.ok_or_else(|| answer::not_found(&target.sandbox))?;
        let io = boxed.dial().await.map_err(|_| answer::not_found(&target.sandbox))?;
        upstream::send(io, request).await
    } else {
        let closed = || answer::port_closed(&target.sandbox, target.port);
        if edge.own_ports.contains(&target.port) {
            return Err(closed());
        }
        let io = upstream::dial(target.port).await.map_err(|_| closed())?;
        upstream::send(io, request).await
    };
    sent.map_err(|error| {
        tracing::debug!(%error, sandbox = %target.sandbox, "no response from the sandbox");
        if sandbox.phase() == Phase::Running {
            answer::port_closed(&target.sandbox, target.port)
        } else {
            answer::not_found(&target.sandbox)
        }
    })
}
