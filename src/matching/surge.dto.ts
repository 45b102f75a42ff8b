import { IsNumber } from 'class-validator';
import { IsNumberBetween } from '../http/validation.js';

export class SurgeDto {
  /** At most two decimal places, since fares are computed in hundredths. */
  @IsNumberBetween(1, 5)
  @IsNumber({ maxDecimalPlaces: 2 }, { message: '$property must have at most 2 decimal places' })
  factor: number;
}
