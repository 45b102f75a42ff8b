import { ApiProperty } from '@nestjs/swagger';

export class UsageResponse {
  @ApiProperty({ type: 'integer' }) readonly prompt_tokens: number;
  @ApiProperty({ type: 'integer' }) readonly completion_tokens: number;
  @ApiProperty({ type: 'integer' }) readonly total_tokens: number;
}

export class SummaryResponse {
  @ApiProperty() readonly trip_id: string;
  @ApiProperty() readonly text: string;
  @ApiProperty({ description: 'What the daily limit of tokens is charged' }) readonly usage: UsageResponse;
}

export class SummariesResponse {
  @ApiProperty({ type: [SummaryResponse] }) readonly summaries: SummaryResponse[];
}
