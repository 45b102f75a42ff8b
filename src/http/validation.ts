import {
  applyDecorators,
  type ArgumentMetadata,
  BadRequestException,
  ValidationPipe,
  type ValidationPipeOptions,
} from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { buildMessage, IsInt, Matches, Max, Min, ValidateBy } from 'class-validator';

/** The validation of all bodies and queries: an unknown field is an error. */
export const VALIDATION: ValidationPipeOptions = { transform: true, whitelist: true, forbidNonWhitelisted: true };

/** The most values in a body or query, and their greatest depth: several times what any route needs. */
const MAX_VALUES = 64;
const MAX_DEPTH = 16;

/**
 * Nest's validation pipe, which first rejects values that are too large or nested too deeply.
 *
 * Without that, 100 kB of unknown fields took 100 times as long as a request, and the answer had a line for each field. A
 * route that takes an array validates it itself.
 */
export class FlatValidationPipe extends ValidationPipe {
  constructor() {
    super(VALIDATION);
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    try {
      if (this.toValidate(metadata)) assertSmall(value, metadata.type);
      return await super.transform(value, metadata);
    } catch (error) {
      if (error instanceof RangeError) throw new BadRequestException(['body is nested too deeply']);
      throw error;
    }
  }
}

/** Stops at the first value beyond the limit. */
function assertSmall(value: unknown, where: string): void {
  const ahead: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  let left = MAX_VALUES;
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth > MAX_DEPTH) throw new BadRequestException([`${where} is nested too deeply`]);
    const values = Object.values(next.value) as unknown[];
    left -= values.length;
    if (left < 0) throw new BadRequestException([`${where} must hold at most ${MAX_VALUES} values`]);
    for (const inner of values) ahead.push({ value: inner, depth: next.depth + 1 });
  }
}

export const ID = /^[\w.:-]{1,64}$/;
export const ID_RULE = 'must be 1 to 64 letters, digits or any of _ . : -';

export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

// The validators below say the same to the API's document (`@nestjs/swagger`).

/** A client's identifier: short, and harmless in logs, URLs and keys. */
export function IsId(): PropertyDecorator {
  return applyDecorators(
    Matches(ID, { message: `$property ${ID_RULE}` }),
    ApiProperty({ type: String, pattern: ID.source }),
  );
}

/** A number in a range, with one message for missing values, `NaN` and text, too. */
export function IsNumberBetween(min: number, max: number): PropertyDecorator {
  return applyDecorators(
    ValidateBy({
      name: 'isNumberBetween',
      validator: {
        validate: (value: unknown) => typeof value === 'number' && value >= min && value <= max,
        defaultMessage: buildMessage((each) => `${each}$property must be a number from ${min} to ${max}`),
      },
    }),
    ApiProperty({ type: Number, minimum: min, maximum: max }),
  );
}

/** A whole number in a range. */
export function IsIntBetween(min: number, max: number): PropertyDecorator {
  return applyDecorators(Max(max), Min(min), IsInt(), ApiProperty({ type: 'integer', minimum: min, maximum: max }));
}

export function IsLatitude(): PropertyDecorator {
  return IsNumberBetween(-90, 90);
}

export function IsLongitude(): PropertyDecorator {
  return IsNumberBetween(-180, 180);
}

/** Converts a decimal number in a query. Other text stays, so that validation rejects it: `Number('')` would be 0. */
export function FromQuery(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^[+-]?\d+(\.\d+)?$/.test(value) ? Number(value) : value,
  );
}
