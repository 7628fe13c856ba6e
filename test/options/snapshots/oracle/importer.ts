import type { bucketFolder } from '../bucket-folder.ts';
import { importDropped } from '../imports.ts';
import { contentOf, mapping } from './files.ts';
import type { Importer } from './history.ts';
import type { ReportLine } from './said.ts';

const lineOf = (text: string): ReportLine => {
  const [, file = '', line = ''] = /^"([^"]*)","(\d*)"/.exec(text) ?? [];
  return { file, line: line === '' ? undefined : Number(line), text };
};

/** The real import, in this process. */
export const importerIn = (bucket: ReturnType<typeof bucketFolder>): Importer => {
  bucket.write('snapshot-mapping.json', JSON.stringify(mapping));
  return {
    put: async (exported, { isApproved, maxRemovals, isFailing, droppedMs }) => {
      const settings = {
        roles: { teacher: 109, student: 110 },
        roleOrder: ['teacher', 'student'],
        maxChangesPercent: 100,
        maxRemovalsPercent: maxRemovals,
      };
      bucket.write('snapshot-settings.json', isFailing ? '{"roles":' : JSON.stringify(settings));
      const dropped = { key: `snapshots/${exported.name}`, content: await contentOf(exported) };
      const { examined, report, bodies } = await importDropped(bucket, { ...dropped, droppedMs, isApproved });
      if (examined.is === 'over')
        return { reasons: undefined, message: examined.message, report: [], bodies: [] };
      return { reasons: examined.reasons, report: report.map(lineOf), bodies };
    },
  };
};
