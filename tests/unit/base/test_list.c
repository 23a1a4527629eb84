/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"

#include "base/attr.h"
#include "harness.h"

struct item {
    int id;
    struct list node;
};

static void assert_ids(struct list *head, const int *ids, size_t n)
{
    struct list *l = head->next;
    for (size_t i = 0; i < n; i++, l = l->next) {
        assert_ptr_not_equal(l, head);
        assert_ptr_equal(l->next->prev, l);
        assert_int_equal(CONTAINER_OF(l, struct item, node)->id, ids[i]);
    }
    assert_ptr_equal(l, head);
}

static void test_order(void **state)
{
    struct list head;
    struct item a = {.id = 1}, b = {.id = 2}, c = {.id = 3};
    (void)state;
    list_init(&head);
    assert_true(list_is_empty(&head));
    list_push_back(&head, &b.node);
    list_push_back(&head, &c.node);
    list_push_front(&head, &a.node);
    assert_false(list_is_empty(&head));
    assert_ids(&head, (const int[]){1, 2, 3}, 3);
    list_remove(&b.node);
    assert_ids(&head, (const int[]){1, 3}, 2);
    list_remove(&b.node); /* idempotent */
    assert_ids(&head, (const int[]){1, 3}, 2);
    assert_true(list_is_empty(&b.node));
    list_insert_before(&a.node, &b.node);
    assert_ids(&head, (const int[]){2, 1, 3}, 3);
    list_remove(&a.node);
    list_remove(&b.node);
    list_remove(&c.node);
    assert_true(list_is_empty(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests_name("base/list", tests, NULL, NULL);
}
