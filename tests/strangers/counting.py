"""How many nodes a graph has: those of bodies counted, Constant nodes not."""


def nodes_of(graph):
    count = 0
    for node in graph.node:
        count += node.op_type != "Constant"
        count += sum(nodes_of(attribute.g) for attribute in node.attribute if attribute.HasField("g"))
    return count
