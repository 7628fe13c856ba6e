import { createCrosswalkTable } from '../../crosswalk/table.ts';
import { createJobServices } from '../../runtime/jobs/job-services.ts';
import type { FillServices } from './fill.ts';
import type { FillSettings } from './fill-settings.ts';

export const createFillServices = async (settings: FillSettings): Promise<FillServices> => {
  const services = await createJobServices('crosswalk-fill', { settings, bucket: settings.fill.bucket });
  return {
    ...services,
    table: createCrosswalkTable({
      dynamodb: services.dynamodb,
      table: settings.tables.crosswalk,
      nowMs: Date.now,
    }),
    maxRemovalsPercent: settings.limits.maxRemovalsPercent,
  };
};
