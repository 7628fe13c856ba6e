// The functions that a page cannot have without a script: sign in by the address, show changes, load slow parts, count ticked boxes.

const signIn = () => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) return;
  // The token works once; it must not stay in the browser's history either.
  const next = location.pathname + location.search;
  history.replaceState(null, '', next);
  const form = Object.assign(document.createElement('form'), { method: 'post', action: '/session' });
  for (const [name, value] of Object.entries({ token, next }))
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
  document.body.append(form);
  form.submit();
};
signIn();
// The printed address is opened in a tab that shows this console already.
addEventListener('hashchange', signIn);

const controls = 'a, button, summary, input, select, textarea, .first';

/** Identifies the same control before and after an update, by its function: another control may take its place. */
const keyOf = (control) => {
  const form = control.form ?? control.closest('details')?.querySelector('form');
  const fields = form ? [...form.querySelectorAll('[type=hidden]')].map(({ value }) => value) : [];
  const text = control.matches('.first') ? '' : control.textContent;
  const own =
    control.name ||
    control.getAttribute('href') ||
    (control.parentElement?.matches('.panel, .fold') ? control.parentElement.className : text);
  return [control.tagName, own, form?.getAttribute('action'), ...fields].join('\n');
};

const isGiven = ({ type, value, defaultValue, selectedOptions }) =>
  type === 'select-one' ? !selectedOptions[0]?.defaultSelected : type === 'text' && value !== defaultValue;

/** New content that arrived while the user typed, by the element that is to show it. */
const held = new WeakMap();

/** The press of something live, until its click arrives: replacing the element before would lose the click. */
let pressed;

/** Keeps controls in which the user types, chooses, presses or has opened something, and keeps the focus. */
const replaceContent = (element, markup) => {
  const focused = element.contains(document.activeElement) ? document.activeElement : undefined;
  if (pressed || focused?.matches('input, select, textarea')) {
    held.set(element, markup);
    return;
  }
  held.delete(element);
  const all = () => [...element.querySelectorAll(controls)];
  const open = new Set([...element.querySelectorAll('details[open] > summary')].map(keyOf));
  const typed = new Map(all().flatMap((each) => (isGiven(each) ? [[keyOf(each), each.value]] : [])));
  const key = focused && keyOf(focused);
  const isFree = focused === element || document.activeElement === document.body;
  const isForQuestion = focused?.matches('.question') || (isFree && !element.querySelector('.question'));
  element.innerHTML = markup;
  for (const each of all()) {
    if (each.matches('summary')) each.parentElement.open = open.has(keyOf(each));
    if (typed.has(keyOf(each))) each.value = typed.get(keyOf(each));
  }
  const question = isForQuestion && element.querySelector('.question');
  if (question) question.focus();
  else if (focused) (all().find((each) => keyOf(each) === key) ?? element).focus({ preventScroll: true });
  begin(element);
};

/** Shows a text at the top of the page; an empty text removes it. */
const tell = (text) => {
  const told = document.querySelector('.lost') ?? document.createElement('p');
  if (told.textContent !== text)
    Object.assign(told, { className: 'problem lost', role: 'alert', textContent: text });
  if (text === '') told.remove();
  else if (!told.isConnected) document.querySelector('main').prepend(told);
};

const partOf = (markup) => {
  const page = new DOMParser().parseFromString(markup, 'text/html');
  return page.querySelector('#part') ?? page.querySelector('[role=alert]');
};

/** The console's pages and answers contain it, requests do not: a process that takes the port later cannot know it. */
const { proof } = document.documentElement.dataset;
/** False: it is unknown whether the port is still the console's, so no click or form may leave this page. */
let isThere = true;
let isLost = false;
let isEnding = false;
for (const name of ['click', 'auxclick', 'submit'])
  addEventListener(name, (event) => isThere || event.preventDefault(), { capture: true });

const lose = () => {
  isLost = true;
  isThere = false;
  tell(
    isEnding
      ? 'This console has ended, so the links and buttons of this page do nothing. To go on, start the console again, and open the address that it prints.'
      : 'This page has lost its console, so its links and buttons do nothing. If the console still runs, reload the page. If not, close the page, start the console again, and open the address that it prints.',
  );
};

/** @throws if nothing answers, or another process than the console. */
const fetchProven = async (path, signal) => {
  const answer = await fetch(path, { signal, redirect: 'error' });
  if (answer.headers.get('console-proof') !== proof) throw new Error(`${path}: this is not the console`);
  return answer;
};

/** Undefined: the page has lost its console, and never asks again. */
const ask = async (path, signal) => {
  if (isLost) return undefined;
  try {
    const answer = await fetchProven(path, signal);
    const told = { ok: answer.ok, text: await answer.text() };
    return isLost ? undefined : told;
  } catch {
    if (!signal?.aborted) lose();
    return undefined;
  }
};

const renew = async (element, signal) => {
  const told = await ask(`${element.dataset.live}?part=yes`, signal);
  if (told === undefined) return;
  tell(told.ok ? '' : (partOf(told.text)?.textContent ?? 'The console cannot show this at the moment.'));
  if (told.ok) replaceContent(element, told.text);
};

/** The console is there as long as this stream continues. */
const follow = async (element, signal) => {
  if (isLost) return;
  try {
    const reader = (await fetchProven(element?.dataset.live ?? '/live', signal)).body.getReader();
    isThere = !(isLost || signal.aborted);
    let renewed = Promise.resolve();
    for (let news = await reader.read(); !news.done; news = await reader.read()) {
      isEnding ||= new TextDecoder().decode(news.value).includes('end');
      if (element) renewed = renewed.then(() => renew(element, signal));
    }
  } catch {
    // The stream has ended, whatever the reason.
  }
  if (!signal.aborted) lose();
};

/** How long after its end a touch's click may arrive, in milliseconds. */
const clickMs = 300;

/** Only a visible page follows: a browser allows six connections for all pages. */
const live = (element) => {
  let leaving;
  const look = () => {
    if (document.hidden) leave();
    else if (!leaving) {
      leaving = new AbortController();
      follow(element, leaving.signal);
    }
  };
  const leave = () => {
    leaving?.abort();
    leaving = undefined;
    isThere = false;
  };
  if (element) {
    element.tabIndex = -1;
    // An answer leaves this page where it is, and the page renews itself, unless somebody types in it.
    element.addEventListener('formdata', ({ formData }) => {
      formData.set('live', 'yes');
      element.focus({ preventScroll: true });
    });
    element.addEventListener('focusout', ({ relatedTarget }) => {
      if (held.has(element) && !element.contains(relatedTarget)) replaceContent(element, held.get(element));
    });
    element.addEventListener('pointerdown', (press) => {
      pressed = press;
    });
    // Where the end of a press was not told, as with a menu, the next move tells it.
    for (const name of ['pointerup', 'pointercancel', 'pointermove'])
      addEventListener(name, ({ buttons }) => {
        const released = pressed;
        if (released === undefined || buttons !== 0) return;
        setTimeout(() => {
          if (pressed !== released) return;
          pressed = undefined;
          if (held.has(element)) replaceContent(element, held.get(element));
        }, clickMs);
      });
  }
  document.addEventListener('visibilitychange', look);
  addEventListener('pagehide', leave);
  addEventListener('pageshow', look);
  look();
};

/** Answers that are still to come, by path: what renews itself meanwhile waits for the same one. */
const coming = new Map();
const askOnce = (path) => {
  const answer = coming.get(path) ?? ask(path).finally(() => coming.delete(path));
  coming.set(path, answer);
  return answer;
};

const load = async (element) => {
  element.setAttribute('aria-busy', 'true');
  const told = await askOnce(element.dataset.load);
  const part = told && partOf(told.text);
  if (!part) return element.removeAttribute('aria-busy');
  element.replaceWith(part);
  begin(part);
  if (document.activeElement === document.body) part.querySelector('[autofocus]')?.focus();
};

/** A tick chooses the ticked letters; without one, nothing is chosen. */
const select = (form) => {
  const all = form.querySelector('[data-all]');
  const ofTicked = form.querySelector('[name=of][value=selected]');
  if (!all || !ofTicked) return;
  const boxes = [...form.querySelectorAll('[type=checkbox][name=selected]')];
  const elsewhere = form.querySelectorAll('[type=hidden][name=selected]').length;
  const here = () => boxes.filter((each) => each.checked).length;
  const tell = () => {
    const ticked = String(here() + elsewhere);
    all.checked = here() === boxes.length;
    form.querySelector('[data-ticked]').textContent = ticked;
    const of = form.querySelector('[name=of]:checked');
    const chosen = of === ofTicked ? ticked : (of?.dataset.number ?? '');
    for (const each of form.querySelectorAll('[data-chosen]')) each.textContent = chosen;
  };
  const choose = () => {
    ofTicked.checked = here() + elsewhere > 0;
    tell();
  };
  all.hidden = false;
  all.addEventListener('change', () => {
    for (const each of boxes) each.checked = all.checked;
    choose();
  });
  for (const each of boxes) each.addEventListener('change', choose);
  for (const each of form.querySelectorAll('[name=of]')) each.addEventListener('change', tell);
  if (here() + elsewhere > 0) choose();
  else tell();
  // A browser that goes back sets the boxes as they were left.
  addEventListener('pageshow', tell);
};

/** A card that shows all that it says, and holds nothing else, has nothing to open. */
const hideNeedless = () => {
  for (const more of document.querySelectorAll('.step > .more:not([open], :has(> :not(summary)))')) {
    more.hidden = false;
    const texts = [...more.parentElement.querySelectorAll(':scope > p')];
    more.hidden = texts.every(
      ({ scrollWidth, clientWidth, offsetParent }) => offsetParent && scrollWidth <= clientWidth,
    );
  }
};
addEventListener('resize', hideNeedless);

const begin = (element) => {
  hideNeedless();
  for (const each of element.querySelectorAll('[data-load]')) load(each);
  for (const each of element.querySelectorAll('[data-selection]')) select(each);
};
/** Keys lead to screens unless they are off or something is being typed. `g` and a letter: a screen. */
let isGoing = false;
const keys = document.querySelector('#keys');
const showKeys = () => keys.showModal();
document.querySelector('[data-keys]')?.addEventListener('click', (event) => {
  event.preventDefault();
  showKeys();
});
addEventListener('keydown', (event) => {
  const { key, target, altKey, ctrlKey, metaKey } = event;
  const isOff = !keys || 'off' in keys.dataset;
  if (isOff || altKey || ctrlKey || metaKey || keys.open || target.closest('input, select, textarea')) return;
  const screen = isGoing && document.querySelector(`nav [data-key="${CSS.escape(key)}"]`);
  const find = document.querySelector('.find input');
  isGoing = key === 'g' && !isGoing;
  if (screen) screen.click();
  else if (key === '/' && find) find.focus();
  else if (key === '?') showKeys();
  else return;
  event.preventDefault();
});

begin(document);
// Without this, a key would lead through all screens first. It scrolls nothing: the heading stays where it is.
if (document.activeElement === document.body)
  document.querySelector('.first')?.focus({ preventScroll: true });
if (proof) live(document.querySelector('[data-live]'));
