import { TEXT_BOUNDS } from './text-bounds.js';

// The OpenAPI description of the endpoints: JSON Schemas of their requests and answers.

/** A schema of OpenAPI, as `@nestjs/swagger` takes it. */
export type AdminSchema = Readonly<Record<string, unknown>>;

const text = (description: string, more: AdminSchema = {}): AdminSchema => ({ type: 'string', description, ...more });
const object = (properties: Readonly<Record<string, AdminSchema>>, required: readonly string[] = []): AdminSchema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...(required.length > 0 && { required }),
});

const IDENTITY: AdminSchema = {
  description: "Who is counted, or the identity's tag such as user:rider-1",
  oneOf: [
    object(
      {
        kind: text('Such as user, ip or key', { maxLength: TEXT_BOUNDS.kind }),
        value: text('Such as rider-1', { maxLength: TEXT_BOUNDS.identity }),
      },
      ['kind', 'value'],
    ),
    { type: 'string', maxLength: TEXT_BOUNDS.tag },
  ],
};
const ROUTE = text("A route's name as in the table, or its class and method", {
  example: 'POST /rides',
  maxLength: TEXT_BOUNDS.route,
});
const POLICY = text("A policy's name", { maxLength: TEXT_BOUNDS.policy });
const TARGET = {
  policy: POLICY,
  identity: { ...IDENTITY, description: 'Left out for a policy that counts all clients together' },
  scope: text('One place where the policy stands, as in the table; default all of them', {
    maxLength: TEXT_BOUNDS.scope,
  }),
};
const CHANGED_BY = {
  reason: text('Why', { maxLength: TEXT_BOUNDS.reason }),
  author: text('Who changes it, unless the application says so', { maxLength: TEXT_BOUNDS.author }),
  ifVersion: {
    type: 'integer',
    minimum: 0,
    description: 'The version that the override must have; 0: there must be none',
  },
};
const PAGE = {
  cursor: text('The cursor of the page before', { maxLength: TEXT_BOUNDS.cursor }),
  limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: 'Items on the page' },
};

const NUMBERS: AdminSchema = {
  type: 'object',
  description: "Numbers of the policy's algorithm, such as capacity and refill",
};
const CHANGE: AdminSchema = {
  type: 'object',
  description: 'Other numbers, such as { "capacity": 1000 }, { "exempt": true } or { "blocked": true }',
  example: { capacity: 1000 },
};
const DURATION: AdminSchema = {
  oneOf: [{ type: 'string', maxLength: TEXT_BOUNDS.expiresIn }, { type: 'integer' }],
  description: 'When it ends by itself: a duration such as 24h, or milliseconds; default never',
};

const answer = (properties: Readonly<Record<string, AdminSchema>>): AdminSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
const array = (items: AdminSchema): AdminSchema => ({ type: 'array', items });
const BOOLEAN: AdminSchema = { type: 'boolean' };
const STRING: AdminSchema = { type: 'string' };
const MODE: AdminSchema = { type: 'string', enum: ['enforce', 'shadow'] };

const OVERRIDE: AdminSchema = {
  type: 'object',
  properties: {
    policy: STRING,
    identity: STRING,
    scope: STRING,
    change: CHANGE,
    version: { type: 'integer' },
    setAtMs: { type: 'integer' },
    expiresAtMs: { type: 'integer', nullable: true, description: 'Milliseconds since 1970; null: it stays' },
    reason: STRING,
    author: STRING,
  },
  required: ['policy', 'version', 'setAtMs', 'expiresAtMs'],
};
const TABLE_POLICIES = array({
  type: 'object',
  properties: {
    name: STRING,
    algorithm: STRING,
    numbers: NUMBERS,
    scope: STRING,
    by: STRING,
    onStoreFailure: STRING,
    settles: { type: 'string', nullable: true, enum: ['countIf', 'settle', null] },
    expiresMs: { type: 'number', nullable: true },
    atExpiry: { type: 'integer', nullable: true },
    priorities: { type: 'object', nullable: true, additionalProperties: { type: 'number' } },
    priority: { type: 'string', nullable: true },
    else: text('The policy that takes a request which does not fit this one', { nullable: true }),
    prefetch: {
      type: 'object',
      nullable: true,
      properties: { for: { type: 'number' }, max: { type: 'integer' } },
      required: ['for', 'max'],
    },
    mode: MODE,
    blockForMs: { oneOf: [{ type: 'number', nullable: true }, array({ type: 'number' })] },
    blockAfter: { type: 'integer', nullable: true },
    thresholds: { ...array({ type: 'number' }), nullable: true },
  },
  required: [
    'name',
    'algorithm',
    'numbers',
    'scope',
    'by',
    'onStoreFailure',
    'settles',
    'expiresMs',
    'atExpiry',
    'priorities',
    'priority',
    'else',
    'prefetch',
    'mode',
    'blockForMs',
    'blockAfter',
    'thresholds',
  ],
});
const page = (items: AdminSchema): AdminSchema => ({
  type: 'object',
  properties: { items: array(items), cursor: text('For the next page; missing: this one is the last') },
  required: ['items'],
});

/** The OpenAPI description of one endpoint. */
export interface AdminOperation {
  readonly summary: string;
  readonly query?: Readonly<Record<string, AdminSchema>>;
  readonly body?: AdminSchema;
  readonly answers: AdminSchema;
  /** Error statuses in addition to 400 and 503. */
  readonly errors: readonly (404 | 409)[];
}

/** The operations by the controller's method. */
export const OPERATIONS: Readonly<Record<string, AdminOperation>> = {
  table: {
    summary: 'What limits what',
    query: { limited: { type: 'boolean', description: 'Only handlers that are limited, or only those that are not' } },
    answers: answer({
      middleware: answer({ chosen: BOOLEAN, policies: TABLE_POLICIES, except: array(STRING) }),
      routes: array(
        answer({
          context: STRING,
          handler: STRING,
          route: STRING,
          origin: STRING,
          guarded: BOOLEAN,
          chosen: BOOLEAN,
          limited: BOOLEAN,
          sheds: BOOLEAN,
          policies: TABLE_POLICIES,
        }),
      ),
      named: TABLE_POLICIES,
    }),
    errors: [],
  },
  topRejected: {
    summary: 'The identities that all processes rejected most often in the last minutes',
    answers: answer({
      processes: { type: 'integer', description: 'Processes that are included' },
      isComplete: BOOLEAN,
      identities: array(
        answer({
          identity: STRING,
          policy: STRING,
          atLeast: { type: 'integer', description: 'Rejections that are certain' },
          atMost: { type: 'integer', description: 'Rejections that are possible' },
        }),
      ),
      othersAtMost: { type: 'integer', description: 'Rejections of any identity that is not listed, at most' },
    }),
    errors: [],
  },
  explain: {
    summary: 'Why a client is rejected, and when the next request passes',
    body: object(
      {
        identity: IDENTITY,
        route: ROUTE,
        plan: {
          type: 'string',
          maxLength: TEXT_BOUNDS.plan,
          description: "The client's plan; default the one that is known",
        },
        timeZone: {
          type: 'string',
          maxLength: TEXT_BOUNDS.timeZone,
          description: "The client's time zone; default the one that is known",
        },
        priority: {
          type: 'string',
          maxLength: TEXT_BOUNDS.priority,
          description: 'The class of the request; default that of each policy',
        },
      },
      ['identity'],
    ),
    answers: answer({
      identity: STRING,
      at: text('ISO 8601'),
      isRejected: BOOLEAN,
      policies: array(
        answer({
          policy: STRING,
          scope: STRING,
          mode: MODE,
          outcome: STRING,
          isRejected: BOOLEAN,
          numbers: NUMBERS,
          priority: { type: 'string', nullable: true },
          insteadOf: text('The policy whose else leads to this one', { nullable: true }),
          block: {
            ...answer({ since: text('ISO 8601'), until: text('ISO 8601'), step: { type: 'integer' } }),
            nullable: true,
          },
        }),
      ),
    }),
    errors: [404],
  },
  reset: {
    summary: 'Clear what is counted of a client',
    body: object({ identity: IDENTITY, route: ROUTE, policy: POLICY }, ['identity']),
    answers: answer({
      cleared: array(answer({ policy: STRING, scope: STRING, found: { ...BOOLEAN, nullable: true } })),
    }),
    errors: [404],
  },
  overrides: { summary: 'All overrides', query: PAGE, answers: page(OVERRIDE), errors: [] },
  setOverride: {
    summary: 'Set an override',
    body: object({ ...TARGET, change: CHANGE, expiresIn: DURATION, ...CHANGED_BY }, ['policy', 'change']),
    answers: OVERRIDE,
    errors: [404, 409],
  },
  findOverride: { summary: 'One override', body: object(TARGET, ['policy']), answers: OVERRIDE, errors: [404] },
  removeOverride: {
    summary: 'Remove an override',
    body: object({ ...TARGET, ...CHANGED_BY }, ['policy']),
    answers: answer({ removed: BOOLEAN }),
    errors: [404, 409],
  },
  history: { summary: 'The last changes of all overrides', query: PAGE, answers: page(OVERRIDE), errors: [] },
  historyOf: {
    summary: 'The last changes of one override',
    body: object({ ...TARGET, ...PAGE }, ['policy']),
    answers: page(OVERRIDE),
    errors: [],
  },
};

/** The body of a 400, 404 or 409. */
export const ERROR_SCHEMA: AdminSchema = {
  type: 'object',
  properties: { statusCode: { type: 'integer' }, error: STRING, message: STRING, code: STRING },
  required: ['statusCode', 'error', 'message'],
};
