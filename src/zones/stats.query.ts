import { IsInt, Max, Min } from 'class-validator';
import { FromQuery } from '../http/validation.js';

export class StatsQuery {
  @FromQuery() @IsInt() @Min(1) @Max(1000) limit: number = 100;
}
