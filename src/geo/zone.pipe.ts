import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';
import { isZone, ZONE_RESOLUTION } from './zone.js';

@Injectable()
export class ZonePipe implements PipeTransform<string, string> {
  transform(zone: string): string {
    if (isZone(zone)) return zone;
    throw new BadRequestException([
      `zone must be an H3 cell of resolution ${ZONE_RESOLUTION} in lower case, such as 872a100d2ffffff`,
    ]);
  }
}
