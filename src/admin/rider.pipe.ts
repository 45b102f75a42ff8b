import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';
import { ID_RULE, isId } from '../http/validation.js';

@Injectable()
export class RiderPipe implements PipeTransform<string, string> {
  transform(rider: string): string {
    if (isId(rider)) return rider;
    throw new BadRequestException([`rider ${ID_RULE}`]);
  }
}
