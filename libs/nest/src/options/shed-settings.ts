import { RateLimitConfigError } from 'floodgate';
import { checkNames, type OptionRule, type ShedSettings, shown } from 'floodgate/internal';
import { didYouMean, duration, isName, readOption, whole, wrongMember } from 'floodgate/internal-boot';
import type { PolicySource } from '../types.js';
import type { ShedOptions } from './module-options.js';

const WHERE = 'RateLimitModule, shed';

/** The thresholds: one of them is needed. */
const THRESHOLDS = ['eventLoopDelay', 'eventLoopUtilization', 'heapUsed', 'check'] as const;

const SHED_OPTIONS = {
  classes: {
    default: undefined,
    valid: (value) => Array.isArray(value) && value.length > 0 && value.every(isOnly),
    wanted: "an array of one class or more, lowest first, each once, such as ['background', 'normal']",
    got: wrongMember((name, i, all) => (isOnly(name, i, all) ? undefined : shown(name))),
  },
  priority: {
    default: undefined,
    valid: (value) => typeof value === 'function' || isName(value),
    wanted: 'the name of a class, or a function that returns one',
  },
  eventLoopDelay: withoutDefault(duration(0, 1, 10_000)),
  eventLoopUtilization: {
    default: undefined,
    valid: (value) => typeof value === 'number' && value > 0 && value < 1,
    wanted: 'a part of the time, above 0 and below 1',
  },
  heapUsed: withoutDefault(whole(0, 1)),
  check: {
    default: undefined,
    valid: (value) => typeof value === 'function',
    wanted: 'a function that returns true or false',
  },
  window: duration('500ms', 100, 60_000),
  retryAfter: duration('5s', 1000, 3_600_000),
  beforeRouting: { default: false, valid: (value) => typeof value === 'boolean', wanted: 'true or false' },
} as const satisfies Record<keyof ShedOptions, OptionRule>;

/** The module's option `shed`, checked. */
export interface CheckedShed extends ShedSettings {
  readonly priority: ShedOptions['priority'];
  /** Whole seconds. */
  readonly retryAfter: number;
  readonly beforeRouting: boolean;
}

/**
 * @param middleware the module's option
 * @throws {RateLimitConfigError} naming the option, what was given and what would be right
 */
export function shedSettings(shed: ShedOptions, middleware: readonly PolicySource[] = []): CheckedShed {
  checkNames(shed, Object.keys(SHED_OPTIONS), WHERE);
  const read = (option: keyof ShedOptions): unknown => readOption(shed, option, SHED_OPTIONS[option], WHERE);
  if (shed.classes === undefined) throw wrong(`classes must be ${SHED_OPTIONS.classes.wanted}, got nothing`);
  const settings: CheckedShed = {
    classes: [...(read('classes') as readonly string[])],
    windowMs: read('window') as number,
    retryAfter: Math.ceil((read('retryAfter') as number) / 1000),
    priority: read('priority') as ShedOptions['priority'],
    beforeRouting: read('beforeRouting') as boolean,
    thresholds: {
      eventLoopDelayMs: read('eventLoopDelay') as number | undefined,
      eventLoopUtilization: read('eventLoopUtilization') as number | undefined,
      heapUsed: read('heapUsed') as number | undefined,
      check: read('check') as ShedOptions['check'],
    },
  };
  if (THRESHOLDS.every((option) => shed[option] === undefined)) {
    throw wrong(
      `has no threshold, so nothing is ever shed: give one of ${THRESHOLDS.join(', ')}, such as eventLoopDelay: '100ms'`,
    );
  }
  checkTogether(settings, middleware.length > 0);
  return settings;
}

/** Checks the options against each other. */
function checkTogether({ priority, classes, beforeRouting }: CheckedShed, hasMiddleware: boolean): void {
  if (typeof priority === 'string' && !classes.includes(priority)) {
    const guess = didYouMean(priority, classes);
    throw withoutEffect(
      `priority: ${shown(priority)} is not among classes (${classes.map(shown).join(', ')}), so nothing is ever shed.${guess} ` +
        'Name one of them, or give a function',
    );
  }
  if (!beforeRouting) return;
  if (!hasMiddleware) {
    throw withoutEffect(
      'beforeRouting has no effect without middleware of the module: give the module a policy in middleware, or leave it out',
    );
  }
  if (typeof priority === 'function') return;
  throw wrong(
    `beforeRouting needs a function priority, got ${shown(priority)}: before routing no handler is known, so only a function can ` +
      'let health checks pass',
  );
}

function isOnly(name: unknown, i: number, all: readonly unknown[]): boolean {
  return isName(name) && all.indexOf(name) === i;
}

function withoutDefault<Rule extends OptionRule>(rule: Rule): Rule & { readonly default: undefined } {
  return { ...rule, default: undefined };
}

function wrong(problem: string): RateLimitConfigError {
  return new RateLimitConfigError(WHERE, problem);
}

function withoutEffect(problem: string): RateLimitConfigError {
  return new RateLimitConfigError(WHERE, problem, 'FG_OPTION_WITHOUT_EFFECT');
}
