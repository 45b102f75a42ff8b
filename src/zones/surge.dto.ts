import { IsNumber } from 'class-validator';
import { IsNumberBetween } from '../http/validation.js';

export class SurgeDto {
  /** Hundredths at most: fares are computed in whole ones. */
  @IsNumberBetween(1, 5)
  @IsNumber({ maxDecimalPlaces: 2 }, { message: '$property must have at most 2 decimal places' })
  factor: number;
}
