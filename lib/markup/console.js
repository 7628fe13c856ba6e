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

/** Whoever types, or has opened something, keeps it. */
const replaceContent = (element, markup) => {
  const open = [...element.querySelectorAll('details')].map((each) => each.open);
  const focused = element.contains(document.activeElement) ? document.activeElement : undefined;
  if (focused?.matches('input, select, textarea')) return;
  const controls = 'a, button, summary';
  const at = focused ? [...element.querySelectorAll(controls)].indexOf(focused) : -1;
  element.innerHTML = markup;
  element.querySelectorAll('details').forEach((each, index) => {
    each.open = open[index] ?? false;
  });
  if (at >= 0) [...element.querySelectorAll(controls)].at(at)?.focus();
  begin(element);
};

const live = (element) => {
  const source = new EventSource(element.dataset.live);
  source.addEventListener('message', ({ data }) => replaceContent(element, data));
  source.addEventListener('end', () => source.close());
  source.addEventListener('error', () => {
    if (document.querySelector('.lost')) return;
    const text = 'The console does not answer: start it again, then open the address that it prints.';
    element.before(
      Object.assign(document.createElement('p'), { className: 'problem lost', textContent: text }),
    );
  });
  source.addEventListener('open', () => document.querySelector('.lost')?.remove());
  addEventListener('pagehide', () => source.close());
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
