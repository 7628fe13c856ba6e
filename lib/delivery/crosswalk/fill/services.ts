import type { CrosswalkSettings } from '../../../runtime/aws/settings.ts';
import { createJobServices } from '../../durable/services.ts';
import { createCrosswalkTable } from '../table.ts';
import type { FillServices } from './fill.ts';

export const createFillServices = async (settings: CrosswalkSettings): Promise<FillServices> => {
  const { CROSSWALK_BUCKET: bucket, CROSSWALK_TABLE: table } = settings;
  const services = await createJobServices('crosswalk-fill', { settings, bucket });
  return {
    ...services,
    table: createCrosswalkTable({ dynamodb: services.dynamodb, table, nowMs: Date.now }),
    maxRemovalsPercent: settings.CROSSWALK_MAXIMUM_REMOVALS_PERCENT,
    limits: { ...services.limits, classlistsHour: settings.CROSSWALK_CLASSLISTS_HOUR },
  };
};
