import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { FromQuery, IsId, IsIntBetween } from '../http/validation.js';

export class HistoryQuery {
  @IsOptional() @ApiPropertyOptional({ description: 'Default: the header X-User-Id.' }) @IsId() rider_id?: string;
  @FromQuery() @ApiPropertyOptional({ default: 20 }) @IsIntBetween(1, 100) limit: number = 20;
}
