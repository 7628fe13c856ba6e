/** The fields of a message under the platform's names: ours with a capital. */
export const capitalised = <Fields extends object>(fields: Fields): Capitalised<Fields> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.charAt(0).toUpperCase() + name.slice(1), value]),
  ) as Capitalised<Fields>;

type Capitalised<Fields> = { [Name in keyof Fields as Capitalize<Name & string>]: Fields[Name] };
