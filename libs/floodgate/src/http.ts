// Requests over HTTP: those that come in, and those that an application sends.
export type { RateLimitExceededBody } from './http/bodies.js';
export type { HeaderFormat } from './http/headers.js';
export { RATE_LIMIT_HEADERS } from './http/headers/names.js';
export type { OpenApiDocument } from './http/openapi.js';
export type { RateLimitExceededProblem } from './http/problem.js';
export { apiKeyIdentity, ipIdentity, userIdentity } from './identity/identities.js';
export type { IdentityResolver, OnMissingIdentity, SyncIdentityResolver } from './identity/identity.js';
export type { RateLimitRequest, RequestFunction } from './identity/request-function.js';
export { ResolvedIdentities } from './identity/resolved-identities.js';
export type { IdentityRequest } from './identity/resolvers.js';
export { limitedAxios } from './outbound/limited-axios.js';
export { limitedFetch, type LimitedFetchOptions } from './outbound/limited-fetch.js';
export type { OutgoingOptions } from './outbound/outgoing-options.js';
export type { BoundPolicy } from './policy/bound-policy.js';
export type { PolicyChoice, PolicyFunction, PolicyUse, TimeZoneFunction } from './policy/policy.js';
export { limitRequests, type NodeLimitOptions, type NodeResponse } from './servers/node.js';
export type { RequestLimitOptions } from './servers/request-limits.js';
export type { TrustProxy } from './servers/trust-proxy-option.js';
