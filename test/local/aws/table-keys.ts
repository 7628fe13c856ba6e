const attributes = (...names: string[]) =>
  names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const }));
const key = (AttributeName: string, KeyType: 'HASH' | 'RANGE' = 'HASH') => ({ AttributeName, KeyType });

/** As lib/stage/template/shared-resources.ts has them: test/package/template/template.test.ts compares both. */
export const tableKeys = {
  ledger: { AttributeDefinitions: attributes('resource'), KeySchema: [key('resource')] },
  crosswalk: { AttributeDefinitions: attributes('bucket'), KeySchema: [key('bucket')] },
  desk: {
    AttributeDefinitions: attributes('message', 'list', 'place'),
    KeySchema: [key('message')],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'by-list',
        KeySchema: [key('list'), key('place', 'RANGE')],
        Projection: { ProjectionType: 'ALL' as const },
      },
    ],
  },
};
