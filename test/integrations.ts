import { loadIntegrations } from '../lib/stage/integrations.ts';
import type { Part } from './integration-stage.ts';

/** What makes the calls of an integration that its example does not make. */
const variants: Record<string, (Omit<Part, 'integration'> & { title: string })[]> = {
  'content-topic-update': [
    {
      title: 'its file',
      data: {
        action: 'replace-file',
        orgUnitId: 2001,
        topicId: 8101,
        file: {
          uri: 's3://sis-relay-uploads/events/essay.pdf',
          name: 'a.pdf',
          contentType: 'application/pdf',
        },
      },
    },
  ],
  'user-attributes-update': [
    {
      title: 'a field',
      data: {
        field: { name: 'Origin', description: '', dataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01' },
      },
      settings: { demographicsFields: 'create' },
    },
  ],
};

/** Every integration with its example, and with its variants. */
export const parts: (Part & { title: string })[] = [...(await loadIntegrations()).values()].flatMap(
  (integration) => [
    { integration, title: integration.name },
    ...(variants[integration.name] ?? []).map(({ title, ...variant }) => ({
      integration,
      ...variant,
      title: `${integration.name}, ${title}`,
    })),
  ],
);
