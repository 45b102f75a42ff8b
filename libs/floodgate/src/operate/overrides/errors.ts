/**
 * Another change came first: the override has another version than `ifVersion`. Nothing was changed.
 *
 * @example if (error instanceof OverrideConflictError) console.warn(`it has version ${error.actualVersion}`);
 */
export class OverrideConflictError extends Error {
  override readonly name = 'OverrideConflictError';

  /**
   * @param expectedVersion what `ifVersion` says
   * @param actualVersion the version of the override; 0: there is none
   */
  constructor(
    target: string,
    readonly expectedVersion: number,
    readonly actualVersion: number,
  ) {
    const actual = actualVersion === 0 ? 'there is none (version 0)' : `it has version ${actualVersion}`;
    const expected = expectedVersion === 0 ? 'none (ifVersion 0)' : `version ${expectedVersion}`;
    super(
      `The override of ${target} was changed meanwhile: expected ${expected}, but ${actual}. Read it again with get`,
    );
  }
}

/**
 * There are as many overrides as can be kept. Nothing was changed.
 *
 * @example if (error instanceof TooManyOverridesError) console.warn(`${error.count} overrides: remove some`);
 */
export class TooManyOverridesError extends Error {
  override readonly name = 'TooManyOverridesError';

  /** @param count how many there are */
  constructor(readonly count: number) {
    super(
      `There are ${count} overrides, and no more can be kept: remove some, give them expiresIn, or give many clients other ` +
        `numbers by a policy of their own`,
    );
  }
}
