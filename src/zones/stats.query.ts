import { ApiPropertyOptional } from '@nestjs/swagger';
import { FromQuery, IsIntBetween } from '../http/validation.js';

export class StatsQuery {
  @FromQuery() @ApiPropertyOptional({ default: 100 }) @IsIntBetween(1, 1000) limit: number = 100;
}
