import { Progress, Stack, Text, Title } from '@mantine/core'
import type { Counts } from '../api/shapes.ts'

interface BarsProps {
  readonly title: string
  readonly counts: Counts
  readonly digits?: number
}

/** Bars in descending order, each with its number. */
export function Bars({ title, counts, digits = 0 }: BarsProps) {
  const all = Object.entries(counts).sort(([, one], [, other]) => other - one)
  const max = Math.max(1e-9, ...all.map(([, count]) => count))
  const format = new Intl.NumberFormat('en', { maximumFractionDigits: digits })
  return (
    <section className="box" aria-label={title}>
      <Title order={2} size="h5" mb="xs">
        {title}
      </Title>
      {all.length === 0 ? (
        <Text size="sm" c="dimmed">
          None since the gateway started.
        </Text>
      ) : null}
      <Stack gap="xs">
        {all.slice(0, 12).map(([name, count]) => (
          <div key={name}>
            <Text size="sm">
              {name}: {format.format(count)}
            </Text>
            <Progress value={(count / max) * 100} aria-label={`${name}: ${format.format(count)}`} />
          </div>
        ))}
      </Stack>
    </section>
  )
}
