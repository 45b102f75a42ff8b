// Only `nestjs-floodgate` of the same version imports this: no version of `floodgate` promises these names.
export * from './index.js'; // first: it takes the real timers
export * from './redis.js';
// The values of `floodgate/http`, without the servers.
export { RATE_LIMIT_HEADERS } from './http/headers/names.js';
export { apiKeyIdentity, ipIdentity, userIdentity } from './identity/identities.js';
export { ResolvedIdentities } from './identity/resolved-identities.js';
export { limitedAxios } from './outbound/limited-axios.js';
export { limitedFetch } from './outbound/limited-fetch.js';
export type { PartOfExecution } from './charges/execution.js';
export type { PolicyCharge } from './charges/policy-charge.js';
export type { Asker } from './charges/resolve.js';
export type { Transport } from './engine/requests/admission.js';
export { RECORD, type RecordedRequest } from './engine/requests/recorded-request.js';
export type { RouteTraits } from './engine/requests/route-traits.js';
export type { PlanSettings } from './functions/plans.js';
export type { FunctionKind, FunctionObserver } from './functions/user-functions.js';
export type { Emitter } from './holds/waiting/client.js';
export type { EndListener, Exchange } from './holds/waiting/exchange.js';
export {
  addressBlockedBody,
  exceededBody,
  identityMissingBody,
  SHED_MESSAGE,
  shedBody,
  unavailableBody,
} from './http/bodies.js';
export type { TrustsHop } from './http/client-address.js';
export type { HttpServer } from './http/connections.js';
export type { Header, HeaderSettings } from './http/headers.js';
export { httpClient, type HttpEnd } from './http/http-client.js';
export type { AnswerSettings, RejectionStatus, Schema } from './http/openapi.js';
export type { HttpRequest } from './http/request.js';
export type { TrustProxySetting } from './http/trust-proxy.js';
export { ClientGoneError, IdentityMissingError } from './identity/errors.js';
export type { IdentityCalls, MissingIdentities } from './identity/identity-chain.js';
export type { CountedBy } from './identity/identity.js';
export { addressResolver } from './identity/resolvers.js';
export type { OpenedStore } from './limiter/opened-store.js';
export type { Checked } from './limiter/options-table.js';
export type { PolicyChecks } from './limiter/policy-checks.js';
export type { HeaderSetter } from './limiter/rate-limiter.js';
export type { HandlerDirectory } from './operate/explain/limit-references.js';
export type { KnownHandler } from './operate/explain/limit-table.js';
export type { RoutePolicySource } from './operate/limit-looks.js';
export type { KeyPrefix } from './policy/key.js';
export type { ParsedPolicy } from './policy/parse-policy.js';
export type { ShedSettings } from './shedding/load-shedder.js';
export type { ChargeMode } from './stores/charge.js';
export type { Answer } from './util/answer.js';
export { shapeOf, shown } from './util/config-error.js';
export { withHelp } from './util/error-codes.js';
export { isInstanceOf, prototypeOf } from './util/foreign.js';
export type { Logger } from './util/logger.js';
export { notify } from './util/notify.js';
export { checkNames, type OptionRule } from './util/option-rules.js';
export { alwaysReadable } from './util/thrown.js';
export type { CountedCharge, CountedPolicy } from './watch/policy-tallies.js';
export type { Publish } from './watch/publish/publisher.js';
export type { FleetTopRejected } from './watch/rejected/shared-rejections.js';
export { PUBLISHERS } from './watch/publish/publishers.js';
export { type Copy, loadedCopy, otherCopies, textOf } from './util/copies.js';
export { ENGINE_COPY } from './util/this-copy.js';
export type { FindTag } from './engine/requests/request-charges.js';
export type { Listed } from './http/address-lists.js';
export type { Charge } from './stores/store.js';
export type { ChargeVerdict } from './stores/store.js';
export type { HandlerClass } from './operate/explain/limit-references.js';
export type { LimitReference } from './operate/explain/limit-references.js';
export type { OverrideChange } from './layers/overrides/override.js';
export type { OverrideHistoryEntry } from './layers/overrides/override.js';
export type { OverridePageOptions } from './layers/overrides/override.js';
export type { PolicyOrigin } from './operate/explain/limit-table.js';
export type { PolicyScope } from './policy/policy.js';
export type { ResetState } from './operate/reset-states.js';
export type { SheddingStats } from './shedding/load-shedder.js';
export type { Verdict } from './stores/store.js';
