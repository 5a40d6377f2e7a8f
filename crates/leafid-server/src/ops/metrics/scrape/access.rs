//! Tokens and quotas in `/metrics`. The limit on tags with series of their own applies to quotas,
//! too.

use prometheus_client::metrics::MetricType;

use crate::ops::metrics::families::{Encoded, Families, to_float};
use crate::service::{Service, TokenRefusal};

pub(super) fn encode(service: &Service, families: &mut Families<'_>) -> Encoded {
    let access = service.access();
    let tokens = access.tokens.len() as u64;
    families.amount("tokens", "tokens in the access file", tokens)?;
    let help = "calls refused by authentication or authorization";
    let refused = TokenRefusal::ALL.map(|why| (why.name(), access.refusals.tokens(why)));
    families.counters("token_refusals", help, "reason", refused)?;
    let by_quotas = access.refusals.quotas();
    let help = "calls refused by a quota, by scope of the quota";
    let calls = by_quotas.map(|(on, calls, _)| (on, calls));
    families.counters("quota_refusals", help, "on", calls)?;
    let help = "ids requested by calls that a quota refused, by scope of the quota";
    let ids = by_quotas.map(|(on, _, ids)| (on, ids));
    families.counters("quota_refused_ids", help, "on", ids)?;
    let quotas = access.quotas.all();
    families.amount("quotas", "quotas in force", quotas.len() as u64)?;
    let help = "ids per second that a quota allows";
    let mut rates = families.family("quota_ids_per_second", help, MetricType::Gauge)?;
    let shown = service.limits().metrics_tags_max;
    for (scope, per_second) in quotas.iter().take(shown) {
        let labels = [("on", scope.kind()), ("name", scope.name())];
        rates
            .encode_family(&labels)?
            .encode_gauge(&to_float(*per_second))?;
    }
    Ok(())
}
