import { createJobServices, type JobServices } from '../../runtime/jobs/job-services.ts';
import type { ExportSettings } from './export-settings.ts';
import type { ExportServices } from './org-unit.ts';

export const createExportServices = async (
  settings: ExportSettings,
): Promise<ExportServices & Pick<JobServices, 'running'>> =>
  createJobServices('course-export', { settings, bucket: settings.export.bucket });
