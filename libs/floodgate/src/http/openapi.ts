import type { HeaderFormat } from './headers.js';
import { DRAFT, X_RATE_LIMIT, X_RATE_LIMIT_ESTIMATED } from './headers/names.js';
import { throttlerSuffix } from './headers/throttler.js';
import { PROBLEM_JSON, PROBLEM_TYPES } from './problem.js';

/** What `documentRateLimits` needs of a document: `OpenAPIObject` of `@nestjs/swagger` is one. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: object;
  components?: object;
}

/** A schema of OpenAPI 3.0 or 3.1. */
export type Schema = Readonly<Record<string, unknown>>;

/** A response of an operation. */
export interface ResponseObject {
  readonly description: string;
  readonly headers: Readonly<Record<string, { readonly description: string; readonly schema: Schema }>>;
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
}

/** What a response says, and in which words. */
export interface AnswerSettings {
  readonly headers: HeaderFormat | false;
  /** `'own'`: a function of the application makes the members of a 429. */
  readonly problem: boolean | 'own';
}

/** The rejections, with the names of their schemas. */
const REJECTIONS = {
  429: { name: 'RateLimitExceeded', description: 'Too many requests: a rate limit rejects the request' },
  503: {
    name: 'RateLimitUnavailable',
    description: 'The rate limit could not be checked, or the server is overloaded',
  },
  403: { name: 'RateLimitAddressBlocked', description: "Requests from the client's address are blocked" },
  401: { name: 'RateLimitIdentityMissing', description: 'The request has no identity that the rate limit counts' },
} as const;

export type RejectionStatus = keyof typeof REJECTIONS;

const RETRY_AFTER = {
  'Retry-After': {
    description: 'Seconds after which the same request may pass. Missing when it never passes.',
    schema: { type: 'integer', minimum: 1 },
  },
};

const COUNT = { type: 'integer', minimum: 0 };

/**
 * The response to a rejected request.
 *
 * @param policies the names of the policies that may reject it
 * @param schema of its body
 * @param classes sentences that say what the class of a request may fill of a policy's limit
 */
export function rejectionResponse(
  status: RejectionStatus,
  policies: readonly string[],
  { headers, problem }: AnswerSettings,
  schema: Schema,
  classes: readonly string[] = [],
): ResponseObject {
  const { description } = REJECTIONS[status];
  return {
    description: status === 429 && classes.length > 0 ? `${description}. ${classes.join(' ')}` : description,
    headers: {
      ...(status === 429 ? decisionHeaders(headers, policies) : {}),
      ...(status === 401 || status === 403 ? {} : RETRY_AFTER),
    },
    content: {
      [problem === false ? 'application/json' : PROBLEM_JSON]: { schema },
    },
  };
}

/**
 * The schema of a rejection's body, and a name for it.
 *
 * @param version of the OpenAPI document: from 3.1 on, a schema is one of JSON Schema
 */
export function rejectionSchema(
  status: RejectionStatus,
  { problem }: AnswerSettings,
  version: string,
): readonly [name: string, schema: Schema] {
  const { name } = REJECTIONS[status];
  const orNull = (type: string): Schema =>
    version.startsWith('3.0') ? { type, nullable: true } : { type: [type, 'null'] };
  if (problem === 'own' && status === 429) return [name, { type: 'object', additionalProperties: true }];
  return [name, problem === false ? bodySchema(status, orNull) : problemSchema(status, orNull)];
}

function decisionHeaders(format: HeaderFormat | false, policies: readonly string[]): ResponseObject['headers'] {
  const triple = (suffix: string, of: string, reset: string): ResponseObject['headers'] => ({
    [`${X_RATE_LIMIT[0]}${suffix}`]: { description: `The limit of ${of}.`, schema: COUNT },
    [`${X_RATE_LIMIT[1]}${suffix}`]: { description: `What is left of ${of}.`, schema: COUNT },
    [`${X_RATE_LIMIT[2]}${suffix}`]: { description: reset, schema: COUNT },
  });
  const fields = {
    [DRAFT[0]]: {
      description: 'The quotas, a list of RFC 9651: draft-ietf-httpapi-ratelimit-headers-11.',
      schema: { type: 'string', example: '"burst";q=100;w=60' },
    },
    [DRAFT[1]]: {
      description: 'What is left of the quotas, a list of RFC 9651: draft-ietf-httpapi-ratelimit-headers-11.',
      schema: { type: 'string', example: '"burst";r=0;t=30' },
    },
  };
  const tightest = triple(
    '',
    'the policy with the smallest share left',
    'Unix seconds at which all of the limit is available.',
  );
  if (format === false) return {};
  const own = {
    ...tightest,
    [X_RATE_LIMIT_ESTIMATED]: {
      description: 'Sent where what the request lacks may be refunded or released at any time.',
      schema: { type: 'string', enum: ['true'] },
    },
  };
  if (format === 'x-ratelimit') return own;
  if (format === 'draft-11') return fields;
  if (format === 'x-ratelimit+draft-11') return { ...own, ...fields };
  const named = policies.map((policy) => {
    const suffix = throttlerSuffix(policy);
    const retry = { [`Retry-After${suffix}`]: RETRY_AFTER['Retry-After'] };
    return { ...triple(suffix, `policy ${policy}`, 'Seconds until all of the limit is available.'), ...retry };
  });
  return Object.assign({}, ...named) as ResponseObject['headers'];
}

type Members = Readonly<Record<string, Schema>>;
type OrNull = (type: string) => Schema;

const STRING = { type: 'string' };
const NAMES = { type: 'array', items: STRING };
/** The one member that a body may leave out. */
const ESTIMATED = { estimated: { type: 'boolean', enum: [true] } };
const SECONDS = { type: 'integer', minimum: 1 };

/** The schema of the bodies in http/bodies.ts. */
function bodySchema(status: RejectionStatus, orNull: OrNull): Schema {
  const members: Readonly<Record<RejectionStatus, Members>> = {
    429: {
      error: { type: 'string', enum: ['rate_limit_exceeded'] },
      message: STRING,
      retry_after: orNull('integer'),
      retry_after_ms: orNull('number'),
      policy: STRING,
      ...ESTIMATED,
    },
    503: {
      error: { type: 'string', enum: ['rate_limit_unavailable', 'load_shed'] },
      message: STRING,
      retry_after: SECONDS,
    },
    401: { error: { type: 'string', enum: ['rate_limit_identity_missing'] }, message: STRING, policy: STRING },
    403: { error: { type: 'string', enum: ['rate_limit_address_blocked'] }, message: STRING },
  };
  return required({ statusCode: { type: 'integer', enum: [status] }, ...members[status] });
}

/** The schema of the problems in http/problem.ts. */
function problemSchema(status: RejectionStatus, orNull: OrNull): Schema {
  const { type, title } = {
    429: PROBLEM_TYPES.quotaExceeded,
    503: PROBLEM_TYPES.reducedCapacity,
    401: PROBLEM_TYPES.unauthorized,
    403: PROBLEM_TYPES.forbidden,
  }[status];
  const members: Readonly<Record<RejectionStatus, Members>> = {
    429: {
      'violated-policies': NAMES,
      'retry-after': orNull('integer'),
      'retry-after-ms': orNull('number'),
      ...ESTIMATED,
    },
    503: { 'violated-policies': NAMES, 'retry-after': SECONDS },
    401: { policy: STRING },
    403: {},
  };
  return required({
    type: { type: 'string', format: 'uri', enum: [type] },
    title: { type: 'string', enum: [title] },
    status: { type: 'integer', enum: [status] },
    detail: STRING,
    ...members[status],
  });
}

function required(properties: Members): Schema {
  return { type: 'object', required: Object.keys(properties).filter((name) => !(name in ESTIMATED)), properties };
}
