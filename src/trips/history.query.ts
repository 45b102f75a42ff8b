import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { FromQuery, IsId } from '../http/validation.js';

export class HistoryQuery {
  @IsOptional() @IsId() rider_id?: string;
  @FromQuery() @IsInt() @Min(1) @Max(100) limit: number = 20;
}
