import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, Matches } from 'class-validator';
import { ID, ID_RULE } from '../../http/validation.js';
import { MAX_SUMMARIES } from '../../limits/policies.js';

export class SummariesDto {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_SUMMARIES)
  @ArrayUnique()
  @Matches(ID, { each: true, message: `each value in $property ${ID_RULE}` })
  @ApiProperty({
    type: 'array',
    items: { type: 'string', pattern: ID.source },
    minItems: 1,
    maxItems: MAX_SUMMARIES,
    uniqueItems: true,
  })
  trip_ids: string[];
}
