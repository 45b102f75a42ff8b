import { BadRequestException, Injectable, type PipeTransform, ValidationPipe } from '@nestjs/common';
import { VALIDATION } from '../../http/validation.js';
import type { DriverPosition } from './driver-index.js';
import { DriverPositionDto } from './driver-position.dto.js';
import { MAX_POSITIONS } from '../../limits/position-batch.js';

/** Enough to see the mistake in a batch. All messages could be thousands of lines. */
const MAX_MESSAGES = 10;

/** The most fields of a position: more than it has, so that errors can name unknown fields. */
const MAX_FIELDS = 16;

const NESTED = 'must be an object with driver_id, lat and lng, without nested values';

/** Validates one position or an array of positions. An error names the position: `[3].lat must be ...`. */
@Injectable()
export class PositionBatchPipe implements PipeTransform<unknown, Promise<DriverPosition[]>> {
  private readonly validation = new ValidationPipe(VALIDATION);

  async transform(body: unknown): Promise<DriverPosition[]> {
    if (!Array.isArray(body)) {
      if (isNested(body)) throw new BadRequestException([`body ${NESTED}`]);
      return [await this.position(body)];
    }
    if (body.length < 1 || body.length > MAX_POSITIONS) {
      throw new BadRequestException([`body must hold 1 to ${MAX_POSITIONS} positions, not ${body.length}`]);
    }
    const positions: DriverPosition[] = [];
    const messages: string[] = [];
    for (const [index, element] of body.entries()) {
      if (messages.length >= MAX_MESSAGES) break;
      if (isNested(element)) {
        messages.push(`[${index}] ${NESTED}`);
        continue;
      }
      try {
        positions.push(await this.position(element));
      } catch (error) {
        messages.push(...messagesOf(error).map((message) => at(index, message)));
      }
    }
    if (messages.length > 0) throw new BadRequestException(messages.slice(0, MAX_MESSAGES));
    return positions;
  }

  private async position(value: unknown): Promise<DriverPosition> {
    const metadata = { type: 'body', metatype: DriverPositionDto } as const;
    const { driver_id, lat, lng }: DriverPositionDto = await this.validation.transform(value, metadata);
    return { driverId: driver_id, lat, lng };
  }
}

/** Whether a position has nested values or too many fields. class-transformer would walk through them before any validation. */
function isNested(value: unknown): boolean {
  if (Array.isArray(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  const fields = Object.values(value) as unknown[];
  return fields.length > MAX_FIELDS || fields.some((field) => typeof field === 'object' && field !== null);
}

/** Adds the index to a message, which begins with a field's name, or with "property" and an unknown name. */
function at(index: number, message: string): string {
  return message.replace(/^(property )?/, `$1[${index}].`);
}

function messagesOf(error: unknown): string[] {
  const response = error instanceof BadRequestException ? error.getResponse() : undefined;
  if (typeof response === 'object' && 'message' in response && Array.isArray(response.message)) return response.message;
  throw error;
}
