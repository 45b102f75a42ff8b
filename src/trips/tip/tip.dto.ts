import { ApiProperty } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';

const MOST_CENTS = 10_000;

export class TipDto {
  @IsInt()
  @Min(1)
  @Max(MOST_CENTS)
  @ApiProperty({ type: 'integer', minimum: 1, maximum: MOST_CENTS, example: 200 })
  amount_cents: number;
}
