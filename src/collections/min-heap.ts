interface Node<T> {
  readonly key: number;
  readonly item: T;
}

/** A binary heap: the item with the smallest key comes first. Items of one key come in no particular order. */
export class MinHeap<T> {
  private readonly nodes: Node<T>[] = [];

  get size(): number {
    return this.nodes.length;
  }

  /** The smallest key; Infinity if there is none. */
  get firstKey(): number {
    return this.nodes[0]?.key ?? Infinity;
  }

  get first(): T | undefined {
    return this.nodes[0]?.item;
  }

  push(key: number, item: T): void {
    const { nodes } = this;
    const node = { key, item };
    let hole = nodes.push(node) - 1;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (nodes[parent]!.key <= key) break;
      nodes[hole] = nodes[parent]!;
      hole = parent;
    }
    nodes[hole] = node;
  }

  pop(): T | undefined {
    const { nodes } = this;
    const top = nodes[0];
    const last = nodes.pop();
    if (top === undefined || last === undefined || nodes.length === 0) return top?.item;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= nodes.length) break;
      if (child + 1 < nodes.length && nodes[child + 1]!.key < nodes[child]!.key) child++;
      if (nodes[child]!.key >= last.key) break;
      nodes[hole] = nodes[child]!;
      hole = child;
    }
    nodes[hole] = last;
    return top.item;
  }
}
