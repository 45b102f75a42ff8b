import { BadRequestException } from '@nestjs/common';
import { isId } from './validation.js';

/**
 * The rider of a request, as the gateway names them.
 *
 * @param userId the header `X-User-Id`
 * @throws BadRequestException without a valid one
 */
export function riderIdOf(userId: string | undefined): string {
  if (!isId(userId)) throw new BadRequestException(['the header X-User-Id must name the rider']);
  return userId;
}
