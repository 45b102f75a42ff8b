import { ApiProperty } from '@nestjs/swagger';

export class ZoneStatsResponse {
  @ApiProperty({ description: 'A cell of H3', example: '872a100d2ffffff' }) readonly zone: string;
  @ApiProperty({ type: 'integer' }) readonly estimates: number;
  @ApiProperty({ type: 'integer', description: 'Requests for rides' }) readonly requests: number;
  @ApiProperty({ type: 'integer' }) readonly matched: number;
  @ApiProperty({ type: 'integer' }) readonly no_driver: number;
  @ApiProperty({ type: 'integer', description: 'Of the requests: those that matching did not serve' })
  readonly unavailable: number;
  @ApiProperty({ type: 'integer' }) readonly drivers_free: number;
  @ApiProperty({ type: 'integer' }) readonly drivers_busy: number;
  @ApiProperty({ minimum: 1, example: 1.5 }) readonly surge_factor: number;
}

export class StatsResponse {
  @ApiProperty({ type: [ZoneStatsResponse] }) readonly zones: ZoneStatsResponse[];
}

export class SurgeResponse {
  @ApiProperty({ example: '872a100d2ffffff' }) readonly zone: string;
  @ApiProperty({ minimum: 1, example: 1.5 }) readonly surge_factor: number;
}
