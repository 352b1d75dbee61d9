import { Button, Group, Text } from '@mantine/core'
import { useResourceKeys } from '../api/resource-keys.ts'
import type { KeysAndBudgets as Found } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { KeysAndBudgets } from '../llm/keys-and-budgets.tsx'
import { Page, ReadOnlyNote } from '../parts/states.tsx'
import { editPath } from '../resources/paths.ts'

/** API keys and budgets, and where to add them. */
export function Keys() {
  const keys = useResourceKeys()
  const { data } = useApi<Found>('/api/llm/keys')
  const places = placesOf(
    keys ?? new Set(),
    (data?.keys ?? []).map(({ policy }) => policy),
  )
  return (
    <Page
      title="Keys"
      lead="API keys that clients authenticate with, and budgets. Only hashes of keys are stored."
    >
      <ReadOnlyNote />
      <Group gap="sm" role="group" aria-label="Add a key">
        {places.map(({ path, label }) => (
          <Button key={path} component="a" href={`/ui/${path}?add=key`} variant="default">
            Add a key for {label}
          </Button>
        ))}
        {keys?.has('llm/default') ? (
          <Button
            component="a"
            href={`/ui/${editPath('llm', 'default')}?add=budget`}
            variant="default"
          >
            Add a budget
          </Button>
        ) : null}
      </Group>
      <KeysAndBudgets />
      <Text size="sm" c="dimmed">
        The form generates a key in this browser and shows it once; the gateway gets its hash. Then{' '}
        <a href="/ui/clients">set up the clients</a> that use it.
      </Text>
    </Page>
  )
}

/** Where keys are already, and the sections that may have them. */
function placesOf(keys: ReadonlySet<string>, policies: readonly string[]) {
  const places = new Map<string, string>()
  if (keys.has('llm/default')) places.set(editPath('llm', 'default'), 'models')
  if (keys.has('mcp/default')) places.set(editPath('mcp', 'default'), 'MCP servers')
  for (const policy of policies) {
    const name = /^route:(.*)$/.exec(policy)?.[1] ?? ''
    if (keys.has(`routes/${name}`)) places.set(editPath('routes', name), `the route ${name}`)
    if (keys.has(`policies/${policy}`)) places.set(editPath('policies', policy), policy)
  }
  if (keys.has('gateways/default')) {
    places.set(editPath('gateways', 'default'), 'all requests of the default gateway')
  }
  if (places.size === 0) places.set('new/policies', 'a gateway or route')
  return [...places].map(([path, label]) => ({ path, label }))
}
