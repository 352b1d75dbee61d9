import { useSyncExternalStore } from 'react'

const BASE = '/ui/'

/** Below the API, the gateway responds itself, for example with the redirect to a sign-in. */
function isPage(path: string): boolean {
  return path.startsWith(BASE) && !path.startsWith(`${BASE}api/`)
}
const listeners = new Set<() => void>()

export interface Place {
  /** The path below `/ui/`, such as `decisions/some-id`. */
  readonly path: string
  readonly query: URLSearchParams
}

/** Links are plain anchors; links within the UI do not reload the page. */
export function startRouter(): void {
  window.addEventListener('popstate', changed)
  document.addEventListener('click', (event) => {
    const isPlain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    const anchor = (event.target as Element).closest('a')
    if (!isPlain || event.defaultPrevented || anchor === null || anchor.target !== '') return
    const to = new URL(anchor.href, location.href)
    if (to.origin !== location.origin || !isPage(to.pathname) || anchor.download !== '') {
      return
    }
    event.preventDefault()
    if (to.href !== location.href) go(to.pathname + to.search)
  })
}

function go(to: string): void {
  history.pushState(null, '', to)
  changed()
}

/** Replaces the query without a history entry, for filters and the like. */
export function replaceQuery(query: URLSearchParams): void {
  const text = query.toString()
  history.replaceState(null, '', text === '' ? location.pathname : `${location.pathname}?${text}`)
  changed()
}

/** Replaces the page without a history entry. */
export function replacePlace(to: string): void {
  history.replaceState(null, '', to)
  changed()
}

export function usePlace(): Place {
  const href = useSyncExternalStore(subscribe, () => location.pathname + location.search)
  const at = new URL(href, location.origin)
  return { path: at.pathname.slice(BASE.length), query: at.searchParams }
}

function changed(): void {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
