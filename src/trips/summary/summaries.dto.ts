import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, Matches } from 'class-validator';
import { ID, ID_RULE } from '../../http/validation.js';
import { MAX_SUMMARIES } from '../../limits/policies.js';

export class SummariesDto {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_SUMMARIES)
  @ArrayUnique()
  @Matches(ID, { each: true, message: `each value in $property ${ID_RULE}` })
  trip_ids: string[];
}
