/** Creates a value at its first use and keeps it; if that throws or rejects, the next use tries again. */
export const memoize = <Value>(make: () => Value): (() => Value) => {
  let made: { value: Value } | undefined;
  return () => {
    if (made === undefined) {
      made = { value: make() };
      if (made.value instanceof Promise)
        made.value.catch(() => {
          made = undefined;
        });
    }
    return made.value;
  };
};
