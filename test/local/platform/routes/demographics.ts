import { json } from '../http/answer.ts';
import { type Check, object, string } from '../http/bind.ts';
import { bindingError, internalServerError, notFound } from '../http/refusal.ts';
import { route } from '../route.ts';

export const demographicsRoutes = [
  route({
    method: 'GET',
    component: 'lp',
    path: 'demographics/dataTypes/',
    scope: 'core:*:*',
    permission: 'SeeDemographics',
    handle: ({ state }) =>
      json(
        state.tables.demographicsDataTypes
          .all()
          .map((type) => ({ DataTypeId: type.dataTypeId, Name: type.name })),
      ),
  }),

  route({
    method: 'POST',
    component: 'lp',
    path: 'demographics/fields/',
    scope: 'core:*:*',
    permission: 'ManageDemographics',
    async handle(call) {
      const { Name, Description, DataTypeId } = fieldBody(await call.json(), '');
      // A well-formed request is known to have been answered with a 500: so it is here, until told otherwise.
      if (call.world.settings.demographicsFields === 'fail')
        throw internalServerError('An unexpected error occurred');
      const { demographicsDataTypes, demographicsFields } = call.state.tables;
      const dataTypeId = DataTypeId.toLowerCase();
      if (demographicsDataTypes.get(dataTypeId) === undefined) throw notFound('Data type');
      const fieldId = call.state.nextId();
      demographicsFields.put({ fieldId, name: Name, description: Description, dataTypeId });
      return json({ FieldId: fieldId, Name, Description, DataTypeId });
    },
  }),
];

const guid: Check<string> = (value, where) => {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(string(value, where))) {
    throw bindingError(`${where} must be a GUID`);
  }
  return string(value, where);
};

const fieldBody = object({ Name: string, Description: string, DataTypeId: guid });
