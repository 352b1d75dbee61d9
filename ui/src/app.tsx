import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  NavLink,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { lazy, Suspense, useEffect, useState } from 'react'
import { apiPath, watchUnauthorized } from './api/client.ts'
import type { Health, Session } from './api/shapes.ts'
import { useApi } from './api/use-api.ts'
import { drafts } from './drafts/drafts.ts'
import { UnsavedNote } from './drafts/unsaved-note.tsx'
import { HealthContext } from './health.ts'
import { PageFailure } from './parts/page-failure.tsx'
import { Loading } from './parts/states.tsx'
import { Tag } from './parts/tags.tsx'
import { usePlace } from './router.ts'
import { SessionContext, useSession } from './session.ts'
import { SignIn } from './sign-in.tsx'

/** Each page is a separate chunk, loaded when the page is opened. */
const PAGES = [
  {
    path: '',
    label: 'Overview',
    page: lazy(() => import('./pages/overview.tsx').then(named('Overview'))),
  },
  { path: 'map', label: 'Map', page: lazy(() => import('./pages/map.tsx').then(named('MapPage'))) },
  {
    path: 'decisions',
    label: 'Decisions',
    page: lazy(() => import('./pages/decisions.tsx').then(named('Decisions'))),
  },
  {
    path: 'policies',
    label: 'Policies',
    page: lazy(() => import('./pages/policies.tsx').then(named('Policies'))),
  },
  {
    path: 'suggest',
    label: 'Suggest',
    page: lazy(() => import('./pages/suggest.tsx').then(named('Suggest'))),
  },
  {
    path: 'sandbox',
    label: 'Sandbox',
    page: lazy(() => import('./pages/sandbox.tsx').then(named('Sandbox'))),
  },
  {
    path: 'backends',
    label: 'Backends',
    page: lazy(() => import('./pages/backends.tsx').then(named('Backends'))),
  },
  { path: 'llm', label: 'LLM', page: lazy(() => import('./pages/llm.tsx').then(named('Llm'))) },
  { path: 'mcp', label: 'MCP', page: lazy(() => import('./pages/mcp.tsx').then(named('Mcp'))) },
  { path: 'keys', label: 'Keys', page: lazy(() => import('./pages/keys.tsx').then(named('Keys'))) },
  {
    path: 'clients',
    label: 'Clients',
    page: lazy(() => import('./pages/clients.tsx').then(named('Clients'))),
  },
  {
    path: 'history',
    label: 'History',
    page: lazy(() => import('./pages/history.tsx').then(named('History'))),
  },
  {
    path: 'config',
    label: 'Configuration',
    page: lazy(() => import('./pages/config.tsx').then(named('Config'))),
  },
  {
    path: 'settings',
    label: 'Settings',
    page: lazy(() => import('./pages/settings.tsx').then(named('Settings'))),
  },
] as const

const resource = lazy(() => import('./pages/resource.tsx').then(named('ResourcePage')))

/** Pages that others lead to. */
const FURTHER = [
  { path: 'edit', label: 'Edit', page: resource },
  { path: 'new', label: 'Add', page: resource },
] as const

function named<Name extends string, Page>(name: Name) {
  return (module: Readonly<Record<Name, Page>>) => ({ default: module[name] })
}

export function App() {
  const [signedOut, setSignedOut] = useState<{ readonly login: string | undefined }>()
  useEffect(
    // If several 401s arrive at once, one with a sign-in path is enough.
    () => watchUnauthorized((login) => setSignedOut((last) => ({ login: login ?? last?.login }))),
    [],
  )
  if (signedOut === undefined) return <Shell />
  return <SignIn login={signedOut.login} done={() => setSignedOut(undefined)} />
}

function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure()
  const { path } = usePlace()
  const health = useApi<Health>('/api/health', { every: 5_000 })
  const session = useApi<Session>('/api/session')
  const [first = ''] = path.split('/')
  const current = [...PAGES, ...FURTHER].find((page) => page.path === first)
  const label = current?.label ?? 'Not found'
  useEffect(() => {
    document.title = `${label} · Portcullis`
    close()
  }, [label, close])
  const Page = current?.page
  return (
    <HealthContext value={health}>
      <SessionContext value={session.data}>
        <a className="skip-link" href="#main">
          Skip to the page
        </a>
        <AppShell
          header={{ height: 52 }}
          navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
          padding="md"
        >
          <AppShell.Header>
            <Group h="100%" px="md" justify="space-between" wrap="nowrap">
              <Group gap="sm" wrap="nowrap">
                <Burger
                  opened={isOpen}
                  onClick={toggle}
                  hiddenFrom="sm"
                  size="sm"
                  aria-label="Pages"
                  aria-expanded={isOpen}
                />
                <Text fw={700}>Portcullis</Text>
                <StorageTag />
              </Group>
              <Group gap="sm" wrap="nowrap">
                <Caller />
                <SchemeSwitch />
              </Group>
            </Group>
          </AppShell.Header>
          <AppShell.Navbar p="xs" aria-label="Pages">
            {PAGES.map((page) => (
              <NavLink
                key={page.path}
                href={`/ui/${page.path}`}
                label={page.label}
                active={page === current}
                aria-current={page === current ? 'page' : undefined}
                variant="filled"
                py={6}
              />
            ))}
          </AppShell.Navbar>
          <AppShell.Main id="main" tabIndex={-1}>
            <UnsavedNote />
            <PageFailure key={path}>
              <Suspense fallback={<Loading label="Loading the page" />}>
                {Page === undefined ? <NotFound /> : <Page />}
              </Suspense>
            </PageFailure>
          </AppShell.Main>
        </AppShell>
      </SessionContext>
    </HealthContext>
  )

  function StorageTag() {
    const { data, problem } = health
    if (problem !== undefined) return <Tag tone="bad">No connection</Tag>
    if (data === undefined) return null
    if (!data.isReady) return <Tag tone="warn">Not ready</Tag>
    return data.storage.mode === 'readonly' ? <Tag tone="quiet">Read-only</Tag> : <Stored />
  }

  function Stored() {
    const { isWritable, revision } = health.data?.storage ?? {}
    if (isWritable !== true) return <Tag tone="warn">Database unreachable</Tag>
    return <Tag tone="good">Revision {revision}</Tag>
  }
}

/** Shows the signed-in user and a sign-out button; empty if all local users have full access. */
function Caller() {
  const session = useSession()
  if (session?.logout == null) return null
  const { name, role, logout } = session
  const leave = async () => {
    // The next user of this tab must not find them.
    const names = [...drafts.all().keys()].join(', ')
    if (names !== '' && !confirm(`Discard the unsaved changes to ${names}?`)) return
    drafts.clear()
    await fetch(apiPath(logout), { method: 'POST', redirect: 'manual' }).catch(() => {})
    location.reload()
  }
  return (
    <>
      <Text size="sm" truncate="end" maw={180} visibleFrom="xs">
        {name} ({role})
      </Text>
      <Button size="xs" variant="default" onClick={leave}>
        Sign out
      </Button>
    </>
  )
}

function SchemeSwitch() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={`Switch to ${other} mode`}
      onClick={() => setColorScheme(other)}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />
      </svg>
    </ActionIcon>
  )
}

function NotFound() {
  return (
    <>
      <h1>Page not found</h1>
      <a href="/ui/">Go to the overview</a>
    </>
  )
}
