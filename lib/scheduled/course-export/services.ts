import { createJobServices, type JobServices } from '../../delivery/durable/services.ts';
import type { ExportSettings } from '../../runtime/aws/settings.ts';
import type { ExportServices } from './org-unit.ts';

export const createExportServices = async (
  settings: ExportSettings,
): Promise<ExportServices & Pick<JobServices, 'running'>> => {
  const { EXPORT_BUCKET: bucket, EXPORT_PREFIX: prefix, EXPORT_CONCURRENCY: concurrency } = settings;
  const services = await createJobServices('course-export', { settings, bucket });
  return { ...services, limits: { ...services.limits, prefix, concurrency } };
};
