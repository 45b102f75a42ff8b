// What `nestjs-floodgate` loads when an application boots. See internal.ts.
export { algorithmEntry } from './algorithms/algorithms.js';
export { Execution } from './charges/execution.js';
export { chargeOf, modeOf } from './charges/policy-charge.js';
export { resolve } from './charges/resolve.js';
export { hasZoneOfRequest, tagOf } from './engine/calls/call-arguments.js';
export { Admission } from './engine/requests/admission.js';
export { RequestRecord } from './engine/requests/request-record.js';
export { CHOSEN_TRAITS, routeTraitsOf } from './engine/requests/route-traits.js';
export { Plans } from './functions/plans.js';
export { TimeZones } from './functions/time-zones.js';
export { UserFunctions } from './functions/user-functions.js';
export { EventWatch, UNSEEN_CLIENT, whenGone } from './holds/waiting/client.js';
export { AddressList } from './http/address-list.js';
export { besideEarlier } from './http/beside-headers.js';
export { clientAddress, peerAddress, trustsHop } from './http/client-address.js';
export { Connections, takesUpgrades } from './http/connections.js';
export { decisionHeaders, FORMATS_WITH_UNITS, HEADER_FORMATS, retryAfterSeconds } from './http/headers.js';
export { ClockOffset } from './http/headers/clock-offset.js';
export { DRAFT, X_RATE_LIMIT, X_RATE_LIMIT_ESTIMATED } from './http/headers/names.js';
export { throttlerSuffix } from './http/headers/throttler.js';
export { isComplete, nodeResponse, StreamClient } from './http/http-client.js';
export { rejectionResponse, rejectionSchema } from './http/openapi.js';
export {
  addressBlockedProblem,
  exceededProblem,
  identityMissingProblem,
  PROBLEM_JSON,
  unavailableProblem,
} from './http/problem.js';
export { ResponseExchange } from './http/response-exchange.js';
export { Ending } from './holds/waiting/ending.js';
export { ForwardedWatch, trustProxyWarning } from './http/trust-proxy.js';
export { expressTrustProxy, fastifyTrustProxy } from './http/trust-proxy-settings.js';
export { address } from './identity/address.js';
export { IdentityChain } from './identity/identity-chain.js';
export { isKind, kindOfTag, MAX_TAG_BYTES } from './identity/identity-tag.js';
export { ON_MISSING_IDENTITY } from './identity/identity.js';
export { ipv6PrefixOf, readsAddressHeader } from './identity/resolvers.js';
export { EVERYONE } from './layers/overrides/override-text.js';
export { LimiterParts } from './limiter/limiter-parts.js';
export { openStore, overridingStore } from './limiter/open-store.js';
export { storeAlone } from './limiter/opened-store.js';
export { LIMITER_OPTIONS, readLimiterOptions, readOptions } from './limiter/options-table.js';
export { partsAlone } from './limiter/parts-alone.js';
export { ROOMS } from './limiter/rooms.js';
export { TEXTS } from './operate/overrides/override-checks.js';
export { bindPolicy } from './policy/bound-policy.js';
export { checkTogether } from './policy/check-together.js';
export { parseElse, withElse } from './policy/else-policies.js';
export { NamedPolicies } from './policy/named-policies.js';
export { DEFAULT_NAME, parsePolicy } from './policy/parse-policy.js';
export { DEFAULT_COST, isName } from './policy/policy-options.js';
export { isPolicyUse, PolicyUses } from './policy/policy-uses.js';
export { defaultClass, lowestClass, unknownClass } from './policy/priorities.js';
export { whyNotBeside } from './policy/together.js';
export { underPriority } from './policy/under-priority.js';
export { LoadShedder } from './shedding/load-shedder.js';
export { traitsOf } from './stores/traits.js';
export { allInOrder } from './util/all-in-order.js';
export { allOf, andThen, answerOf, attempt } from './util/answer.js';
export { durationToMicroseconds, meantInSeconds } from './util/duration.js';
export { classOf } from './util/foreign.js';
export { adopted, isPromise } from './util/is-promise.js';
export { didYouMean, nearestName } from './util/nearest-name.js';
export {
  duration,
  hasMethods,
  isFunction,
  isObject,
  oneOf,
  readOption,
  whole,
  wrongMember,
} from './util/option-rules.js';
export { optionalPackageError } from './util/optional-package.js';
export { RationedWarning } from './util/rationed-warning.js';
export { readable, reasonOf } from './util/thrown.js';
export { routeName } from './watch/decision-event.js';
export { Monitor } from './watch/monitor.js';
export { SharedRejections } from './watch/rejected/shared-rejections.js';
export { RequestCharges } from './engine/requests/request-charges.js';
export { PolicyFunctions } from './functions/policy-functions.js';
export { AddressLists } from './http/address-lists.js';
export { REQUEST_OPTIONS } from './http/request-options.js';
