// What a page cannot do by itself: sign in by the address, show what changes, fetch what takes long, count what is ticked.

const token = new URLSearchParams(location.hash.slice(1)).get('token');
if (token !== null) {
  // The token works once; it is not to stay in the browser's history either.
  const next = location.pathname + location.search;
  history.replaceState(null, '', next);
  const form = Object.assign(document.createElement('form'), { method: 'post', action: '/session' });
  for (const [name, value] of Object.entries({ token, next }))
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
  document.body.append(form);
  form.submit();
}

const controls = 'a, button, summary, input, select, textarea';

/** The same control before and after: by what it does, not by its place, which another one may take. */
const keyOf = (control) => {
  const form = control.form ?? control.closest('details')?.querySelector('form');
  const fields = form ? [...form.querySelectorAll('[type=hidden]')].map(({ value }) => value) : [];
  const own = control.name || control.getAttribute('href') || control.textContent;
  return [control.tagName, own, form?.getAttribute('action'), ...fields].join('\n');
};

const isGiven = ({ type, value, defaultValue, selectedOptions }) =>
  type === 'select-one' ? !selectedOptions[0]?.defaultSelected : type === 'text' && value !== defaultValue;

/** What came while somebody typed, by the element that is to show it. */
const held = new WeakMap();

/** Whoever types, chooses, or has opened something, keeps it; and the focus stays where it was. */
const replaceContent = (element, markup) => {
  const focused = element.contains(document.activeElement) ? document.activeElement : undefined;
  if (focused?.matches('input, select, textarea')) {
    held.set(element, markup);
    return;
  }
  held.delete(element);
  const all = () => [...element.querySelectorAll(controls)];
  const open = new Set([...element.querySelectorAll('details[open] > summary')].map(keyOf));
  const typed = new Map(all().flatMap((each) => (isGiven(each) ? [[keyOf(each), each.value]] : [])));
  const key = focused && keyOf(focused);
  element.innerHTML = markup;
  for (const each of all()) {
    if (each.matches('summary')) each.parentElement.open = open.has(keyOf(each));
    if (typed.has(keyOf(each))) each.value = typed.get(keyOf(each));
  }
  if (focused) (all().find((each) => keyOf(each) === key) ?? element).focus({ preventScroll: true });
  begin(element);
};

/** The page itself says what is wrong; where it does not come, the console has ended. */
const tellTrouble = async (element) => {
  // Told once: to ask again and again would count as use, and the console would not end by itself.
  if (document.querySelector('.lost')) return;
  const answer = await fetch(location.href).catch(() => undefined);
  const page = new DOMParser().parseFromString((await answer?.text()) ?? '', 'text/html');
  if (answer?.ok || document.querySelector('.lost')) return;
  const text =
    page.querySelector('[role=alert]')?.textContent ??
    'The console does not answer: start it again, then open the address that it prints.';
  const told = document.createElement('p');
  Object.assign(told, { className: 'problem lost', role: 'alert', textContent: text });
  element.before(told);
};

/** Only a page that is seen is told news: a browser has six connections for all of them. */
const live = (element) => {
  let source;
  let isOver = false;
  element.tabIndex = -1;
  const leave = () => {
    source?.close();
    source = undefined;
  };
  const follow = () => {
    if (document.hidden) leave();
    if (document.hidden || source || isOver) return;
    source = new EventSource(element.dataset.live);
    source.addEventListener('message', ({ data }) => {
      document.querySelector('.lost')?.remove();
      replaceContent(element, data);
    });
    source.addEventListener('end', () => {
      isOver = true;
      leave();
    });
    source.addEventListener('error', () => tellTrouble(element));
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  element.addEventListener('focusout', ({ relatedTarget }) => {
    if (held.has(element) && !element.contains(relatedTarget)) replaceContent(element, held.get(element));
  });
  addEventListener('pagehide', leave);
  addEventListener('pageshow', follow);
};

const load = async (element) => {
  element.setAttribute('aria-busy', 'true');
  const answer = await fetch(element.dataset.load, { credentials: 'same-origin' });
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const part = page.querySelector('#part') ?? page.querySelector('[role=alert]');
  if (part) element.replaceWith(part);
  else element.removeAttribute('aria-busy');
};

const select = (form) => {
  const all = form.querySelector('[data-all]');
  const boxes = [...form.querySelectorAll('[name=selected]')];
  const count = form.querySelector('[data-selected]');
  if (!all || !count) return;
  all.hidden = false;
  const tell = () => {
    const ticked = boxes.filter((each) => each.checked).length;
    count.textContent = String(ticked);
    all.checked = ticked === boxes.length;
    form.querySelector(`[name=of][value=${ticked > 0 ? 'selected' : 'matching'}]`).checked = true;
  };
  all.addEventListener('change', () => {
    for (const each of boxes) each.checked = all.checked;
    tell();
  });
  for (const each of boxes) each.addEventListener('change', tell);
  tell();
};

const begin = (element) => {
  for (const each of element.querySelectorAll('[data-live]')) live(each);
  for (const each of element.querySelectorAll('[data-load]')) load(each);
  for (const each of element.querySelectorAll('[data-selection]')) select(each);
};
begin(document);
